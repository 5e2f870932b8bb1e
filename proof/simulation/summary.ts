/** The results of a run. */
import type { Tally } from './tally.ts';

/** Durations in milliseconds; seeds as text, since they may be larger than a number. By rule with a bound: what came nearest to it. */
export function summaryOf(tally: Tally) {
  const { histories, steps, turns, requests, accepted, virtualMs, coreMs, seen, nearest, failures } = tally.total;
  return {
    seen: Object.fromEntries([...seen].sort()),
    nearest: Object.fromEntries([...nearest].sort()),
    histories,
    violated: failures.map(({ seed }) => String(seed)),
    shortcomings: tally.shortcomings(),
    steps,
    turns,
    requests,
    accepted,
    virtualMs,
    coreMs,
    historiesPerCoreSecond: (1_000 * histories) / coreMs,
    elapsedMs: tally.elapsedMs,
  };
}
