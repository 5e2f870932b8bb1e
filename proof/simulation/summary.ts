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
  const bounds = new Table({
    head: ['rule', 'nearest', 'bound', 'share'],
    colAligns: ['left', 'right', 'right', 'right'],
  });
  bounds.push(...boundsOf(tally).map((cells) => [...cells]));
  console.log(figures.toString());
  console.log(bounds.toString());
  console.log(counts.toString());
  for (const shortcoming of tally.shortcomings()) console.log(`this run does not count: ${shortcoming}`);
}

/** By rule with a bound: the amount that came nearest to it, the bound of that moment, and the share. Durations in milliseconds. */
export function boundsOf(tally: Tally): readonly (readonly string[])[] {
  return [...tally.total.nearest]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([rule, { amount, bound }]) => [
      rule,
      rounded(amount),
      rounded(bound),
      `${Math.round((100 * amount) / bound)} %`,
    ]);
}

/** Durations in milliseconds; seeds as text, since they may be larger than a number. */
export function summaryOf(tally: Tally): object {
  const { histories, steps, turns, requests, accepted, virtualMs, coreMs, seen, nearest } = tally.total;
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
    nearest: Object.fromEntries(nearest),
  };
}

function rounded(amount: number): string {
  return amount.toLocaleString('en', { maximumSignificantDigits: 3 });
}
