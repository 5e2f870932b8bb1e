/**
 * The bound of a scene: no rule can do better, because the bound knows everything.
 *
 * Delays: all permitted slots, first come first served, warm for the whole of a busy time, which begins with the median
 * latencies of stream, invocation and cold start. Bill: the work divided by the slots of a worker, plus one start per busy
 * time. No rule can reach both at once.
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

export function boundOf(
  work: readonly Work[],
  { slots, from, tickMs }: BoundSettings,
): { readonly delays: readonly number[]; readonly billedMs: number } {
  const delays: number[] = [];
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
      billedMs += ms / CONCURRENCY;
    }
    return ends;
  };
  for (const one of work) {
    const ends = serve(one);
    for (const ms of one.then ?? []) serve({ at: ends - 1, ms });
  }
  return { delays, billedMs };
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
