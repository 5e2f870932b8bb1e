/**
 * The local time of zones: how far it is ahead of UTC, and which moments have a given local time. Uses the machine's rules through `Intl`.
 */

/** Local times are written as epoch milliseconds, as if their zone were UTC. */
export type LocalMs = number;

const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;
/** The clock of a zone never goes back by more than this. */
const LONGEST_REPEAT_MS = 3 * 3_600_000;

/** Returns how far the local time of a zone is ahead of UTC at a moment. @throws RangeError for an unknown zone */
export function offsetMs(zone: string, at: number): number {
  if (zone === 'UTC') return 0;
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = OFFSET.exec(formatOf(zone).format(at)) ?? [];
  const size = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  return (sign === '-' ? -size : size) * SECOND_MS;
}

/** Returns the moments with a local time, in order: none if the clock skipped that time, two if the clock went back and repeated it. */
export function momentsOf(zone: string, local: LocalMs): readonly number[] {
  const offsets = new Set([offsetMs(zone, local - DAY_MS), offsetMs(zone, local + DAY_MS)]);
  return [...offsets]
    .map((offset) => local - offset)
    .filter((at) => at + offsetMs(zone, at) === local)
    .sort((a, b) => a - b);
}

/** Returns when the clock next goes back, if that is soon enough to repeat local times that have already passed. */
export function turnBackAfter(zone: string, after: number): number | undefined {
  const offset = offsetMs(zone, after);
  if (offsetMs(zone, after + LONGEST_REPEAT_MS) >= offset) return undefined;
  let [before, from] = [after, after + LONGEST_REPEAT_MS];
  while (from - before > 1) {
    const middle = Math.floor((before + from) / 2);
    if (offsetMs(zone, middle) === offset) before = middle;
    else from = middle;
  }
  return from;
}

/** `GMT+05:30`, or just `GMT` for a zero offset. */
const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Creating a format is slow, so each is cached. There are fewer than 600 zones. */
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  formats.set(zone, made);
  return made;
}
