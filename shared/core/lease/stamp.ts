import type { Runtime } from '../runtime/runtime.ts';

/** Part of every write: the writer's wall clock, and a nonce by which it recognises its own unanswered attempts. */
export interface Stamp {
  readonly now: number;
  readonly nonce: string;
}

/** One per logical write: retries of a write have the same stamp, and the next write has a new one. */
export function stampOf({ clock, ids }: Runtime): Stamp {
  return { now: clock.now(), nonce: ids.unique() };
}
