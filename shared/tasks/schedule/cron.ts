/**
 * Due times of cron expressions, in the local time of a zone. This module does not read a clock or start a timer.
 *
 * croner finds local times, as if the zone were UTC; this module maps them to moments, as EventBridge Scheduler does:
 *   - If the hour is fixed, a missing local time is left out, and a repeated one counts once, the first time.
 *   - If the hour is `*`, a step or names every hour, each moment counts that has a matching local time: an hourly schedule runs once
 *     in each hour that passes.
 */
import { Cron } from 'croner';
import { ConfigurationError, messageOf, shown } from '../../core/errors.ts';
import { ZONE_LIMIT_CHARACTERS, cronFields, hasFixedHour } from './cron-fields.ts';
import type { LocalMs } from './zone.ts';
import { momentsOf, offsetMs, turnBackAfter } from './zone.ts';

export interface CronTimes {
  /** Five fields, or six with seconds in front. */
  readonly cron: string;
  /** An IANA zone, such as `Europe/Berlin`. The expression means local time there, in summer and in winter. */
  readonly zone: string;
}

/** The finest resolution of cron expressions. */
const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
/** No zone changes its clock twice, there and back, within less. */
const BETWEEN_CHANGES_MS = 20 * DAY_MS;
/** Maximum number of local times to check. A schedule that was paused for long may have more. */
const CHECKED_AT_MOST = 400;

/** Returns the first occurrence after a time; undefined if no occurrence follows. */
export function occurrenceAfter(times: CronTimes, after: number): number | undefined {
  const { zone } = times;
  const cron = new Cron(times.cron, { timezone: 'UTC', mode: '5-or-6-parts' });
  const isFixed = hasFixedHour(times.cron);
  const next = firstMoment(cron, zone, after, isFixed);
  const back = isFixed ? undefined : turnBackAfter(zone, after);
  if (back === undefined || (next !== undefined && next < back)) return next;
  const offset = offsetMs(zone, back);
  const again = localAfter(cron, back + offset - SECOND_MS);
  return again === undefined ? next : Math.min(next ?? Infinity, again - offset);
}

/**
 * Returns the local times between two moments that a fixed hour names and the zone does not have: each as the moment at which the clock
 * would have shown it, had it not gone forward.
 */
export function occurrencesWithoutMoment(
  times: CronTimes,
  { after, before }: { readonly after: number; readonly before: number },
): readonly number[] {
  const { zone } = times;
  const isSameClock = offsetMs(zone, after) === offsetMs(zone, before) && before - after < BETWEEN_CHANGES_MS;
  if (isSameClock || !hasFixedHour(times.cron)) return [];
  const cron = new Cron(times.cron, { timezone: 'UTC', mode: '5-or-6-parts' });
  const found: number[] = [];
  let local: LocalMs | undefined = after + offsetMs(zone, after);
  for (let checked = 0; checked < CHECKED_AT_MOST && (local = localAfter(cron, local)) !== undefined; checked++) {
    const at = local - offsetMs(zone, local - DAY_MS);
    if (at >= before) break;
    if (momentsOf(zone, local).length === 0) found.push(at);
  }
  return found;
}

/**
 * Returns the last occurrence of a span, both ends included.
 * @param next the first occurrence after a moment
 */
export function lastOccurrenceWithin(
  next: (after: number) => number | undefined,
  { from, until }: { readonly from: number; readonly until: number },
): number | undefined {
  const first = next(from - 1) ?? Infinity;
  if (first > until) return undefined;
  let last = first;
  let end = until;
  // There may be more occurrences between `last` and `end`, but not after `end`.
  for (let middle = last; end - last >= SECOND_MS; middle = Math.floor((last + end) / 2)) {
    const occurrence = next(middle) ?? Infinity;
    if (occurrence <= until) last = occurrence;
    else end = middle;
  }
  return last;
}

/** @throws ConfigurationError when the expression or the zone is invalid, or there are no occurrences */
export function validCron(what: string, times: CronTimes, now: number): CronTimes {
  const { zone } = times;
  const cron = cronFields(what, times.cron).join(' ');
  if (!isZone(zone))
    throw new ConfigurationError(`${what}: zone = ${shown(zone)}: must be an IANA time zone such as 'Europe/Berlin'`);
  if (firstOccurrence(what, { cron, zone }, now) === undefined)
    throw new ConfigurationError(`${what}: cron = ${JSON.stringify(cron)} never comes: no such day exists`);
  return { cron, zone };
}

function firstOccurrence(what: string, times: CronTimes, now: number): number | undefined {
  try {
    return occurrenceAfter(times, now);
  } catch (cause) {
    throw new ConfigurationError(`${what}: cron = ${JSON.stringify(times.cron)}: ${messageOf(cause)}`, { cause });
  }
}

function isZone(zone: unknown): zone is string {
  try {
    return (
      typeof zone === 'string' &&
      zone.length <= ZONE_LIMIT_CHARACTERS &&
      new Intl.DateTimeFormat('en', { timeZone: zone }).format(0) !== ''
    );
  } catch {
    return false;
  }
}

function firstMoment(cron: Cron, zone: string, after: number, isFixed: boolean): number | undefined {
  let local: LocalMs | undefined = after + offsetMs(zone, after);
  while ((local = localAfter(cron, local)) !== undefined) {
    const [first, second] = momentsOf(zone, local);
    const found = isFixed || first === undefined || first > after ? first : second;
    if (found !== undefined && found > after) return found;
  }
  return undefined;
}

function localAfter(cron: Cron, local: LocalMs): LocalMs | undefined {
  return cron.nextRun(new Date(local))?.getTime();
}
