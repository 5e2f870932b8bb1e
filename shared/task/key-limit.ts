/**
 * Limits per key: at most so many tasks of one key at a time, at most so many begun in a span of time.
 *
 * Guarantees
 *   - Never more tasks of a key are in state `running` than its limit: a claim takes the place in its own transaction, and whatever takes the
 *     task out of `running` gives it back in its own. A dead worker's place is kept until somebody has taken its task over, so not even then.
 *   - Never more are begun in a window than the rate: the windows are those of the clock, so two full ones may touch.
 *
 * Does not guarantee
 *   - Order. Of the tasks of a key that wait, any may be next.
 *
 * A task without a key pays nothing for this. The limit is the task's own: tasks of one key that were given different ones each obey theirs.
 */

export interface RateOfKey {
  readonly count: number;
  readonly perMs: number;
}

export interface KeyLimit {
  readonly key: string;
  readonly limit: number;
  readonly rate: RateOfKey | undefined;
}

/** What a key's row says. */
export interface KeyState {
  readonly running: number;
  readonly window: number | undefined;
  readonly started: number;
}

/** A key without room. */
export interface Fullness {
  /** When the next window of the rate begins, if that is what it waits for; undefined: as soon as one of its tasks ends. */
  readonly until: number | undefined;
}

export const IDLE_KEY: KeyState = { running: 0, window: undefined, started: 0 };

/** A row names each task that runs, and is rewritten with every claim: beyond some dozens a key is no limit but a queue of its own. */
export const KEY_LIMIT_MAX = 100;

/** Whether a task of the key may begin now, as far as can be seen. Pure. */
export function hasRoom({ limit, rate }: KeyLimit, state: KeyState, now: number): boolean {
  if (state.running >= limit) return false;
  return rate === undefined || state.window !== windowOf(rate, now) || state.started < rate.count;
}

/** Why it has no room, if it has none. Pure. */
export function fullnessOf(limit: KeyLimit, state: KeyState, now: number): Fullness | undefined {
  if (hasRoom(limit, state, now)) return undefined;
  const { rate } = limit;
  const isOutOfRate = rate !== undefined && !hasRoom(limit, { ...state, running: 0 }, now);
  return { until: isOutOfRate ? windowOf(rate, now) + rate.perMs : undefined };
}

/** The start of the window that a moment lies in. */
export function windowOf({ perMs }: RateOfKey, now: number): number {
  return now - (now % perMs);
}
