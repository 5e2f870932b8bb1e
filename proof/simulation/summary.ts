/** The table at the end of a run, and the same for programs. */
import Table from 'cli-table3';
import type { Tally } from './tally.ts';
import { MUST_BE_SEEN } from './tally.ts';

export function printSummary(tally: Tally): void {
  const { histories, steps, turns, requests, accepted, virtualMs, coreMs, seen, failures } = tally.total;
  const perHistory = (count: number): string => (count / Math.max(1, histories)).toFixed(0);
  const coreSeconds = coreMs / 1000;
  const figures = new Table({ colAligns: ['left', 'right'] });
  figures.push(
    ['histories', histories.toLocaleString('en')],
    ['violated', failures.length],
    ['histories/s per core', (histories / coreSeconds).toFixed(1)],
    ['scheduler steps/s per core (events run)', Math.round(steps / coreSeconds).toLocaleString('en')],
    ['turns/s per core (events that woke code under test)', Math.round(turns / coreSeconds).toLocaleString('en')],
    ['virtual : core time', `${Math.round(virtualMs / coreMs).toLocaleString('en')} : 1`],
    ['core time', `${coreSeconds.toFixed(1)} s`],
    ['virtual time', `${(virtualMs / 3_600_000).toFixed(1)} h`],
    ['steps per history', perHistory(steps)],
    ['requests per history', perHistory(requests)],
    ['accepted writes per history', perHistory(accepted)],
    ['real time', `${(tally.elapsedMs / 1000).toFixed(1)} s`],
    ['memory at most', `${Math.round(process.resourceUsage().maxRSS / 1024)} MB`],
  );
  const counts = new Table({ head: ['seen', 'times'], colAligns: ['left', 'right'] });
  const names = [...new Set([...MUST_BE_SEEN, ...seen.keys()])].sort();
  for (const name of names) counts.push([name, (seen.get(name) ?? 0).toLocaleString('en')]);
  console.log(figures.toString());
  console.log(counts.toString());
  for (const shortcoming of tally.shortcomings()) console.log(`this run does not count: ${shortcoming}`);
}

/** Durations in milliseconds; seeds as text, since they may be larger than a number. */
export function summaryOf(tally: Tally): object {
  const { histories, steps, turns, requests, accepted, virtualMs, coreMs, seen } = tally.total;
  return {
    histories,
    violated: tally.failures.map(({ seed }) => String(seed)),
    shortcomings: tally.shortcomings(),
    steps,
    turns,
    requests,
    accepted,
    virtualMs,
    coreMs,
    elapsedMs: tally.elapsedMs,
    seen: Object.fromEntries(seen),
  };
}
