/** Occurrences in ten zones over two years, compared with a table of local times from `Intl` and an independent matcher. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { occurrenceAfter } from '../../../../shared/tasks/schedule/cron.ts';

const ZONES = [
  ...['Europe/Berlin', 'Europe/London', 'America/New_York', 'America/Sao_Paulo', 'America/St_Johns'],
  ...['Australia/Lord_Howe', 'Pacific/Chatham', 'Africa/Casablanca', 'Asia/Kolkata', 'Antarctica/Troll'],
];
const FROM = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const HALF_HOUR = 30 * MINUTE;
const DAY = 86_400_000;
const YEARS = 2 * 365 * DAY;
/** Longer than any local time repeats. */
const LONGEST_REPEAT = 3 * 3_600_000;

interface Local {
  readonly hour: number;
  readonly minute: number;
  readonly weekday: number;
  /** The whole local time in minutes, to recognize repeated times. */
  readonly total: number;
}

/** Local times of each half hour; no zone changes its offset in between. */
const tables = new Map(ZONES.map((zone) => [zone, tableOf(zone)]));

function tableOf(zone: string): readonly Local[] {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  return Array.from({ length: YEARS / HALF_HOUR }, (_, at) => {
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = format
      .format(FROM + at * HALF_HOUR)
      .split(/\D+/)
      .map(Number);
    const utc = Date.UTC(year, month - 1, day, hour, minute);
    return { hour, minute, weekday: new Date(utc).getUTCDay(), total: utc / MINUTE };
  });
}

function localOf(zone: string, at: number): Local {
  const { hour, minute, weekday, total } = tables.get(zone)![Math.floor((at - FROM) / HALF_HOUR)]!;
  const rest = ((at - FROM) % HALF_HOUR) / MINUTE;
  return minute + rest < 60
    ? { hour, minute: minute + rest, weekday, total: total + rest }
    : { ...localOf(zone, at - rest * MINUTE + HALF_HOUR), minute: minute + rest - 60, total: total + rest };
}

/** Half hours at which the offset is another than before. */
const changesOf = (zone: string): readonly number[] =>
  tables.get(zone)!.flatMap(({ total }, at, all) => {
    const before = all[at - 1];
    return before !== undefined && total - before.total !== 30 ? [FROM + at * HALF_HOUR] : [];
  });

interface Pattern {
  /** The occurrences of an expression with six fields. */
  readonly second: number | undefined;
  readonly minutes: readonly number[];
  readonly hours: readonly number[] | { readonly step: number };
  readonly weekday: number | undefined;
}

const patterns = fc.record<Pattern>({
  second: fc.option(fc.constantFrom(0, 1, 59), { nil: undefined }),
  minutes: fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 3 }),
  hours: fc.oneof(
    fc.uniqueArray(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 3 }),
    fc.record({ step: fc.integer({ min: 1, max: 5 }) }),
  ),
  weekday: fc.option(fc.constantFrom(0, 6), { nil: undefined, freq: 3 }),
});

function cronOf({ second, minutes, hours, weekday }: Pattern): string {
  const hour = 'step' in hours ? (hours.step === 1 ? '*' : `*/${hours.step}`) : hours.join(',');
  return `${second === undefined ? '' : `${second} `}${minutes.join(',')} ${hour} * * ${weekday ?? '*'}`;
}

/** Returns every matching moment of the span; with a fixed hour, only the first minute of each repeated local time. */
function occurrencesOf(
  zone: string,
  { second = 0, minutes, hours, weekday }: Pattern,
  from: number,
  until: number,
): readonly number[] {
  const occurrences: number[] = [];
  const seen = new Set<number>();
  for (let at = from - LONGEST_REPEAT; at < until; at += MINUTE) {
    const local = localOf(zone, at);
    const isHour = 'step' in hours ? local.hour % hours.step === 0 : hours.includes(local.hour);
    if (!isHour || !minutes.includes(local.minute) || (weekday ?? local.weekday) !== local.weekday) continue;
    const isRepeated = seen.has(local.total);
    seen.add(local.total);
    if (at >= from && ('step' in hours || !isRepeated)) occurrences.push(at + second * 1_000);
  }
  return occurrences;
}

describe.each(ZONES)('occurrences in %s', (zone) => {
  const changes = changesOf(zone);

  test(`are those of the local time there, around its ${changes.length} changes and elsewhere`, () => {
    const moments = fc.integer({ min: FROM / MINUTE + 5_000, max: (FROM + YEARS) / MINUTE - 10_000 });
    const starts =
      changes.length === 0 ? moments : fc.oneof(fc.constantFrom(...changes.map((at) => at / MINUTE - 600)), moments);
    fc.assert(
      fc.property(patterns, starts, (pattern, start) => {
        const [from, until] = [start * MINUTE, start * MINUTE + 1.5 * DAY];
        const found: number[] = [];
        let occurrence = occurrenceAfter({ cron: cronOf(pattern), zone }, from - 1);
        while (occurrence !== undefined && occurrence < until) {
          found.push(occurrence);
          occurrence = occurrenceAfter({ cron: cronOf(pattern), zone }, occurrence);
        }
        expect(found).toEqual(occurrencesOf(zone, pattern, from, until));
      }),
      { numRuns: 15, seed: 41 },
    );
  });
});

test('a missing occurrence is left out, a double occurrence runs once, and an hourly schedule runs each hour', () => {
  const next = (cron: string, after: string, zone = 'Europe/Berlin') =>
    new Date(occurrenceAfter({ cron, zone }, Date.parse(after))!).toISOString();

  expect(next('30 2 * * *', '2026-03-28T02:00:00Z')).toBe('2026-03-30T00:30:00.000Z');
  expect(next('30 2 * * *', '2026-10-24T12:00:00Z')).toBe('2026-10-25T00:30:00.000Z');
  expect(next('30 2 * * *', '2026-10-25T00:30:00Z')).toBe('2026-10-26T01:30:00.000Z');
  expect(next('0 * * * *', '2026-10-25T00:00:00Z')).toBe('2026-10-25T01:00:00.000Z');
  expect(next('0 * * * *', '2026-03-29T00:00:00Z')).toBe('2026-03-29T01:00:00.000Z');
});
