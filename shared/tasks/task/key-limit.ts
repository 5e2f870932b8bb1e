/**
 * Limits per key: at most so many tasks of one key at a time, at most so many begun in a span of time.
 *
 * Guarantees
 *   - Never more tasks of a key are in state `running` than its limit:
 *     a claim takes the place in its own transaction, and whatever takes the
 *     task out of `running` gives it back in its own.
 *     A dead worker's place is kept until another worker has taken its task over, so not even then.
 *   - Never more are begun in a window than the rate: the windows are those of the clock, so two full ones may touch.
 *
 * Does not guarantee
 *   - Order. Of the tasks of a key that wait, any may be next.
 *
 * A task without a key pays nothing for this. The limit is the task's own:
 * tasks of one key that were given different ones each obey theirs.
 * So are count and span of a rate, but the key has one window:
 * it counts what begins of all its tasks, and starts over with that of the shorter
 * span. No rate is ever exceeded so; a task of the longer span can begin
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

/** What a key's row says. */
export interface KeyState {
  readonly running: number;
  readonly window: number | undefined;
  readonly started: number;
  /** When a task of it began last, as far as that is known. */
  readonly enteredAt: number | undefined;
}

/** A key without room. */
export interface Fullness {
  /** When the next window of the rate begins, if that is what it waits for; undefined: as soon as one of its tasks ends. */
  readonly until: number | undefined;
  /** When one of its tasks began last, as far as that is known: how long it has stood still. */
  readonly enteredAt: number | undefined;
}

export const IDLE_KEY: KeyState = { running: 0, window: undefined, started: 0, enteredAt: undefined };

/** A row names each task that runs, and is rewritten with every claim: beyond some dozens a key is no limit but a queue of its own. */
export const KEY_LIMIT_MAX = 100;

/** Whether a task of the key may begin now, as far as can be seen. Pure. */
export function hasRoom({ limit, rate }: KeyLimit, state: KeyState, now: number): boolean {
  if (state.running >= limit) return false;
  if (rate === undefined || state.window === undefined) return true;
  const window = windowOf(rate, now);
  return state.window < window || (state.window === window && state.started < rate.count);
}

/** Whether its rate allows for no more in this window. Pure. */
export function isOutOfRate(limit: KeyLimit, state: KeyState, now: number): boolean {
  return !hasRoom(limit, { ...state, running: 0 }, now);
}

/** Why it has no room, if it has none. Pure. */
export function fullnessOf(limit: KeyLimit, state: KeyState, now: number): Fullness | undefined {
  if (hasRoom(limit, state, now)) return undefined;
  const { rate } = limit;
  const until = rate !== undefined && isOutOfRate(limit, state, now) ? windowOf(rate, now) + rate.perMs : undefined;
  return { until, enteredAt: state.enteredAt };
}

/** As it is once one more task of it runs. Pure. */
export function entered({ rate }: KeyLimit, { running, window, started }: KeyState, now: number): KeyState {
  const current = rate === undefined ? window : windowOf(rate, now);
  return { running: running + 1, window: current, started: current === window ? started + 1 : 1, enteredAt: now };
}

/**
 * How long the last of some tasks that wait for a full key will probably wait, in ms:
 * a key that has stood still for a minute is taken to let
 * one more begin in a minute from now; and a rate lets no more begin than it allows. Pure.
 */
export function expectedWaitMs(
  { rate }: KeyLimit,
  { until, enteredAt }: Fullness,
  waiting: number,
  now: number,
): number {
  const byPlaces = enteredAt === undefined ? 0 : waiting * Math.max(0, now - enteredAt);
  if (rate === undefined || until === undefined) return byPlaces;
  return Math.max(byPlaces, until - now + Math.floor((waiting - 1) / rate.count) * rate.perMs);
}

/** The start of the window that a moment lies in. */
export function windowOf({ perMs }: RateOfKey, now: number): number {
  return now - (now % perMs);
}
