/** The sessions and rights of the two processes of a drawn story, by drawn names. */
import type { Session } from '../../../shared/client/session.ts';
import type { Leadership } from '../../../shared/coordination/election/election.ts';
import type { Lock } from '../../../shared/coordination/lock/lock.ts';
import type { Permit } from '../../../shared/coordination/semaphore/permit.ts';
import type { Process } from '../../support/coordination.ts';
import type { Prng } from '../../support/machines/prng.ts';
import { shown } from '../../support/story.ts';
import type { Act } from './drawn-story.ts';

interface Held {
  readonly sessions: Map<string, Session>;
  readonly locks: Map<string, Lock>;
  readonly permits: Map<string, Permit>;
  readonly terms: Map<string, Leadership>;
  readonly members: string[];
}

/** Makes an act of what a process does with what it holds. */
export type Acting = (title: string, run: (at: Process, held: Held) => unknown) => Act;

const SESSIONS = ['s1', 's2'] as const;
const WAITS = [0, '1s', '5s', '20s'] as const;

export function acting(): Acting {
  const all = new Map<Process, Held>();
  return (title, run) => ({
    title,
    run: async (at) => {
      const held = all.get(at) ?? {
        sessions: new Map(),
        locks: new Map(),
        permits: new Map(),
        terms: new Map(),
        members: [],
      };
      all.set(at, held);
      return run(at, held);
    },
  });
}

export function someone(prng: Prng): string {
  return prng.pick(SESSIONS);
}

export function patienceOf(prng: Prng): (typeof WAITS)[number] {
  return prng.pick(WAITS);
}

export function of<T>(held: ReadonlyMap<string, T>, name: string): T {
  const found = held.get(name);
  if (found === undefined) throw new Error(`nothing is held as ${name}`);
  return found;
}

export function stateOf(signal: AbortSignal): string {
  return signal.aborted ? shown(signal.reason) : 'alive';
}
