/**
 * The bound of a scene: no rule can do better, because the bound knows everything.
 *
 * Delays: all permitted slots, first come first served, warm for the whole of a busy time, which begins with the median
 * latencies of stream, invocation and cold start. Bill: the work divided by the slots of a worker, plus one start per busy
 * time. No rule can reach both at once.
 *
 * Least bill: what a fleet is billed that has at each moment the workers that the running tasks fill, and no more. The bill's bound
 * shares a worker among tasks that do not run at the same time, so tasks that come one by one are never billed as little.
 */
import { LATENCIES } from '../latencies.ts';
import { CONCURRENCY } from '../woken-fleet.ts';

interface Work {
  readonly at: number;
  readonly ms: number;
  /** Work that begins when this ends. */
  readonly then?: readonly number[];
}

interface BoundSettings {
  /** That may be at work at once. */
  readonly slots: number;
  /** Delays and bills count from here on. */
  readonly from: number;
  /** If no wake arrives, the next tick is the first to know. */
  readonly tickMs: number | undefined;
}

const START_MS = LATENCIES.invokeMs.p50 + 6 * LATENCIES.dynamoMs;

interface Bound {
  readonly delays: readonly number[];
  readonly billedMs: number;
  readonly leastBilledMs: number;
}

/** One more task runs, or one less. */
interface Change {
  readonly at: number;
  readonly by: 1 | -1;
}

export function boundOf(work: readonly Work[], { slots, from, tickMs }: BoundSettings): Bound {
  const delays: number[] = [];
  const changes: Change[] = [];
  let billedMs = 0;
  let busyUntil = -Infinity;
  let isCold = true;
  let free: number[] = [];
  const serve = ({ at, ms }: Work): number => {
    if (at >= busyUntil) {
      const heard = tickMs === undefined ? at + LATENCIES.streamMs.p50 : Math.ceil((at + 1) / tickMs) * tickMs;
      const coldMs = isCold ? LATENCIES.coldStartMs : 0;
      free = Array.from({ length: slots }, () => heard + START_MS + coldMs);
      if (at >= from) billedMs += 6 * LATENCIES.dynamoMs + coldMs;
      isCold = false;
    }
    const begins = Math.max(at, free.shift() ?? at);
    const ends = begins + ms;
    free.splice(placeOf(free, ends), 0, ends);
    busyUntil = Math.max(busyUntil, ends);
    if (at >= from) {
      delays.push(begins - at);
      changes.push({ at: begins, by: 1 }, { at: ends, by: -1 });
      billedMs += ms / CONCURRENCY;
    }
    return ends;
  };
  for (const one of work) {
    const ends = serve(one);
    for (const ms of one.then ?? []) serve({ at: ends - 1, ms });
  }
  return { delays, billedMs, leastBilledMs: leastBilledMs(changes) };
}

function leastBilledMs(changes: readonly Change[]): number {
  let [billedMs, running, before] = [0, 0, 0];
  for (const { at, by } of changes.toSorted((one, other) => one.at - other.at)) {
    billedMs += Math.ceil(running / CONCURRENCY) * (at - before);
    running += by;
    before = at;
  }
  return billedMs;
}

/** Returns the index of the first moment that is not before `moment`; `moments` ascend. */
function placeOf(moments: readonly number[], moment: number): number {
  let [least, most] = [0, moments.length];
  while (least < most) {
    const middle = (least + most) >> 1;
    if ((moments[middle] ?? Infinity) < moment) least = middle + 1;
    else most = middle;
  }
  return least;
}
