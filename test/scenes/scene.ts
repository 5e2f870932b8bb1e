/**
 * A scene is how one verb of the protocol comes about, and what another process may do in between.
 * The sweeps beside this file, the measurements and the texts of statements all read the same book (`book.ts`).
 */
import type { Session } from '../../shared/client/session.ts';
import type { SentVerb } from '../../shared/dynamo/engine/verb.ts';
import type { Process, World } from '../support/coordination.ts';

export const SECOND = 1_000;
const LONG = 600 * SECOND;

/** Two processes over one table, each with a session, and time. */
export interface Party {
  readonly world: World;
  readonly here: Process;
  readonly there: Process;
  /** The process of the scene. */
  readonly mine: Session;
  /** The rival process. */
  readonly theirs: Session;
  readonly pass: (ms: number) => Promise<void>;
}

type Act<Given> = (party: Party, given: Given) => Promise<unknown>;

interface Parts<Given> {
  /** Brings about what the verb needs, undisturbed. */
  readonly before?: (party: Party) => Promise<Given>;
  /** The call under test: its answer is compared. */
  readonly act: Act<Given>;
  /** By what they do: acts of the other process, while a request is under way. */
  readonly rivals?: Readonly<Record<string, Act<Given>>>;
}

export interface Scene<Sends extends SentVerb = SentVerb> {
  /** As in the texts of the statements; several scenes may send one. */
  readonly verb: Sends;
  readonly title: string;
  readonly before: (party: Party) => Promise<unknown>;
  readonly act: Act<never>;
  readonly rivals: Readonly<Record<string, Act<never>>>;
}

export function scene<Given, Sends extends SentVerb>(
  verb: Sends,
  title: string,
  { before, act, rivals = {} }: Parts<Given>,
): Scene<Sends> {
  return { verb, title, before: before ?? (() => Promise.resolve()), act, rivals };
}

export async function partyIn(world: World, { here, there }: Pick<Party, 'here' | 'there'>): Promise<Party> {
  const mine = await here.leasehold.session({ ttl: '2m', name: 'mine', node: 'n1' });
  const theirs = await there.leasehold.session({ ttl: '20s', lockDelay: '5s', name: 'theirs', node: 'n2' });
  const pass = async (ms: number): Promise<void> => {
    // In small steps while sessions matter.
    const step = ms > LONG ? LONG : SECOND;
    for (let left = ms; left > 0; left -= step) {
      await world.clock.advance(Math.min(left, step));
      await world.idle();
    }
  };
  return { world, here, there, mine, theirs, pass };
}

/** The other process stops without ending its session, which expires. */
export async function dies({ there, pass }: Party): Promise<void> {
  there.driver.isDown = true;
  await pass(52 * SECOND);
}
