/**
 * Limits per key: concurrent tasks, and task starts per window.
 *
 * Guarantees
 *   - A key never has more tasks in state `running` than its limit:
 *     a claim takes a slot of the key in its own transaction, and the write
 *     that takes the task out of `running` frees the slot in its own.
 *     After a crash the slot stays taken until another worker has taken the task over, so this includes crashes.
 *   - No more tasks start in a window than the rate allows: windows follow the clock, so two full ones may be adjacent.
 *
 * Does not guarantee
 *   - Order. Any waiting task of a key may be next.
 *   - The limit after rows were deleted by hand, or restored. The key's row counts the running tasks and does not say which they are:
 *     if it was deleted, tasks that ran at that time and tasks that start later share the count until it is 0 again.
 *     If the row of a running task is deleted, its slot stays taken. `leasehold keys recount` repairs both.
 *
 * A task without a key has no extra cost. The limit belongs to the task:
 * if tasks of one key have different limits, each obeys its own.
 * The same holds for a rate's count and span, but the key has a single window:
 * it counts the starts of all the key's tasks, and restarts with the window of the shorter
 * span. So no rate is ever exceeded; a task with the longer span can start
 * only while both windows begin at the same moment, and waits otherwise.
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

/** The state in a key's row. */
export interface KeyState {
  readonly running: number;
  readonly window: number | undefined;
  readonly started: number;
  /** When one of its tasks last started, if known. */
  readonly enteredAt: number | undefined;
}

/** A key at capacity. */
export interface Fullness {
  /** Start of the rate's next window, if the rate is the reason; undefined: capacity returns when one of its tasks ends. */
  readonly until: number | undefined;
  /** How many of its tasks run. */
  readonly running: number;
  /** Start of its latest task, if known: shows how long the key has been idle. */
  readonly enteredAt: number | undefined;
}

export const IDLE_KEY: KeyState = { running: 0, window: undefined, started: 0, enteredAt: undefined };

/**
 * Every claim and every end of a key's task writes the key's row, and one row can take about 250 tasks a second. For more, use a separate
 * queue instead of a key.
 */
export const KEY_LIMIT_MAX = 100;

/** Whether a task of the key may start now, according to this state. Pure. */
export function hasCapacity({ limit, rate }: KeyLimit, state: KeyState, now: number): boolean {
  if (state.running >= limit) return false;
  if (rate === undefined || state.window === undefined) return true;
  const window = windowOf(rate, now);
  return state.window < window || (state.window === window && state.started < rate.count);
}

/** Whether its rate is used up in this window. Pure. */
export function isOutOfRate(limit: KeyLimit, state: KeyState, now: number): boolean {
  return !hasCapacity(limit, { ...state, running: 0 }, now);
}

/** Returns why the key is at capacity, if it is. Pure. */
export function fullnessOf(limit: KeyLimit, state: KeyState, now: number): Fullness | undefined {
  if (hasCapacity(limit, state, now)) return undefined;
  const { rate } = limit;
  const until = rate !== undefined && isOutOfRate(limit, state, now) ? windowOf(rate, now) + rate.perMs : undefined;
  return { until, running: state.running, enteredAt: state.enteredAt };
}

/** Returns the state after one more task of the key has started. Pure. */
export function entered({ rate }: KeyLimit, { running, window, started }: KeyState, now: number): KeyState {
  const current = rate === undefined ? window : windowOf(rate, now);
  return { running: running + 1, window: current, started: current === window ? started + 1 : 1, enteredAt: now };
}

/** Writes a limit without its key: `5`, or `5/100/60000` with a rate of 100 a minute. */
export function limitText({ limit, rate }: KeyLimit): string {
  return rate === undefined ? String(limit) : [limit, rate.count, rate.perMs].join('/');
}

/** @returns undefined if the text was not written by `limitText` */
export function parseLimit(key: string, text: string): KeyLimit | undefined {
  const [limit = Number.NaN, count, perMs] = text === '' ? [] : text.split('/').map(Number);
  if (!(limit > 0)) return undefined;
  return { key, limit, rate: count === undefined || perMs === undefined ? undefined : { count, perMs } };
}

/** Returns the start of the window that contains a moment. */
export function windowOf({ perMs }: RateOfKey, now: number): number {
  return now - (now % perMs);
}
