/** A flow of one call of a client or an operator. A later caller repeats the call unless the first one got its result. */
import type { Clients } from './clients.ts';
import { clientsAt } from './clients.ts';
import type { Flow, Stage } from './stage.ts';
import { mustBe, workOff } from './work-off.ts';

export interface Call {
  readonly name: string;
  /** Makes the rows that the call needs, without faults. */
  readonly before?: (clients: Clients, stage: Stage) => Promise<unknown>;
  readonly call: (clients: Clients) => Promise<unknown>;
  /** By task id: the state in which workers leave it. */
  readonly states?: Readonly<Record<string, string>>;
  /** Whether a later caller finds the effect of the call, before workers run. */
  readonly finds?: (clients: Clients) => Promise<boolean>;
  /** Workers run nothing until another call. */
  readonly andThen?: (clients: Clients) => Promise<unknown>;
}

export function callFlow({ name, before, call, states = {}, finds, andThen }: Call): Flow {
  const told = new WeakSet<Stage>();
  return {
    name,
    async before(stage) {
      await before?.(clientsAt(stage.place('before')), stage);
    },
    async act(stage, place) {
      await call(clientsAt(place));
      told.add(stage);
    },
    async after(stage) {
      const later = clientsAt(stage.place('later'));
      if (!told.has(stage)) await call(later);
      if (finds !== undefined && !(await finds(later)))
        stage.violated('L13', `${name} was acknowledged, and cannot be found`);
      await andThen?.(later);
      await workOff(stage);
      for (const [id, state] of Object.entries(states)) mustBe(stage, id, state);
    },
  };
}
