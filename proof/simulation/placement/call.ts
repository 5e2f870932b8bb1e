/** A call of a client or an operator, as a flow: made again by a later caller, unless this one was told how it ended. */
import type { Clients } from './clients.ts';
import { clientsAt } from './clients.ts';
import type { Flow, Stage } from './stage.ts';
import { mustBe, workOff } from './work-off.ts';

export interface Call {
  readonly name: string;
  /** What was there before, without faults. */
  readonly before?: (clients: Clients, stage: Stage) => Promise<unknown>;
  readonly call: (clients: Clients) => Promise<unknown>;
  /** The states in which these tasks end, once workers have come. */
  readonly states?: Readonly<Record<string, string>>;
  /** What a later caller must find, before workers come. */
  readonly finds?: (clients: Clients) => Promise<boolean>;
  /** Workers run nothing until another call. */
  readonly andThen?: (clients: Clients) => Promise<unknown>;
}

export function callFlow({ name, before, call, states = {}, finds, andThen }: Call): Flow {
  const told = new WeakSet<Stage>();
  return {
    name,
    ...(before === undefined
      ? {}
      : {
          before: async (stage) => {
            await before(clientsAt(stage.place('before')), stage);
          },
        }),
    async act(stage, place) {
      await call(clientsAt(place));
      told.add(stage);
    },
    async after(stage) {
      const later = clientsAt(stage.place('later'));
      if (!told.has(stage)) await call(later);
      if (finds !== undefined && !(await finds(later)))
        stage.violated('L13', `${name} was acknowledged, and is not to be found`);
      await andThen?.(later);
      await workOff(stage);
      for (const [id, state] of Object.entries(states)) mustBe(stage, id, state);
    },
  };
}
