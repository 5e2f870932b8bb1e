import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import type { CronTimes } from '../../../../shared/tasks/schedule/cron.ts';
import {
  lastOccurrenceWithin,
  occurrenceAfter,
  occurrencesWithoutMoment,
  validCron,
} from '../../../../shared/tasks/schedule/cron.ts';
import type { ScheduleRecord } from '../../../../shared/tasks/schedule/schedule.ts';
import { dueOccurrences } from '../../../../shared/tasks/schedule/schedule.ts';

const HOURLY = { cron: '0 * * * *', zone: 'UTC' };
const at = (time: string): number => Date.parse(`2026-11-21T${time}Z`);

const YEARS_MS = 4 * 366 * 86_400_000;
const occurrenceUpTo = (times: CronTimes, until: number) =>
  lastOccurrenceWithin((after) => occurrenceAfter(times, after), { from: until - YEARS_MS, until });

test('enqueues the last missed run just before the next, not the first', () => {
  const schedule = { ...HOURLY, missed: 'last', nextAt: at('09:00:00') } as ScheduleRecord;

  expect(dueOccurrences(schedule, at('12:59:59.500'))).toEqual({
    occurrences: [at('12:00:00')],
    nextAt: at('13:00:00'),
  });
});

describe('hostile times', () => {
  const NOW = at('12:00:00');

  test.each([
    ['fields without end', { cron: '* '.repeat(100_000) }],
    ['a field of 100,000 letters', { cron: `${'x'.repeat(100_000)} * * * *` }],
    ['a step of nothing', { cron: '*/0 * * * *' }],
    ['days of months that have none of them', { cron: '0 0 31 2,4,6,9,11 *' }],
    ['a ninth Monday', { cron: '0 0 * * 1#9' }],
    ['a path as a zone', { zone: '../../etc/passwd' }],
    ['a zone of 100,000 letters', { zone: 'x'.repeat(100_000) }],
  ])('of %s are refused with a message of bounded length', (_what, times) => {
    let refusal: unknown;
    try {
      validCron('schedule s', { ...HOURLY, ...times }, NOW);
    } catch (error) {
      refusal = error;
    }

    expect(refusal).toBeInstanceOf(ConfigurationError);
    expect((refusal as Error).message).toMatch(/^schedule s: (cron|zone) = "/);
    expect((refusal as Error).message.length).toBeLessThan(2_000);
  });

  test.each([
    ['0 0 30 2 *', undefined],
    ['0 0 29 2 *', '2024-02-29T00:00:00Z'],
    ['59 59 23 29 2 *', '2024-02-29T23:59:59Z'],
  ])('that come never or once in years (%s) still have their last occurrence, or none', (cron, occurrence) => {
    expect(occurrenceUpTo({ cron, zone: 'UTC' }, NOW)).toBe(
      occurrence === undefined ? undefined : Date.parse(occurrence),
    );
  });
});

describe('patterns that another cron understands otherwise, or that do not exist', () => {
  test.each([
    ['0 12 * * ? *', 'write "0 12 * * *"'],
    ['0 18 ? * 1 *', 'write "0 18 * * 0"'],
    ['0 10 ? * 2-6 *', 'write "0 10 * * 1-5"'],
    ['0 10 ? * MON-FRI *', 'write "0 10 * * MON-FRI"'],
    ['0 8 ? * 2#1 *', 'write "0 8 * * 1#1"'],
    ['0 8 ? * 6L *', 'write "0 8 * * 5L"'],
    ['0 8 1 * ? 2027', 'write "0 8 1 * *", and startAt and endAt in place of the year 2027'],
    ['cron(0 8 1 * ? *)', 'write "0 8 1 * *"'],
    ['rate(5 minutes)', 'write "*/5 * * * *"'],
    ['rate(1 hour)', 'write "0 * * * *"'],
    ['rate(12 hours)', 'write "0 */12 * * *"'],
    ['rate(7 minutes)', 'no cron'],
    ['@daily', 'write "0 0 * * *"'],
    ['? ? ? ? ?', '? has no meaning here; write *'],
    ['0 0 32 * *', 'day 32: must be 1 to 31'],
    ['0 0 * 13 *', 'month 13: must be 1 to 12'],
    ['0 0 0 * *', 'day 0: must be 1 to 31'],
    ['-5 0 * * *', 'minute -5: must be 0 to 59'],
    ['0 0 * * MONDAY', 'weekday MONDAY: write MON'],
    ['0 0 * JANUARY *', 'month JANUARY: write JAN'],
    [`0,${'1,'.repeat(200)}2 * * * *`, 'at most 256'],
  ])('%s is refused with what to write', (cron, hint) => {
    expect(() => validCron('schedule s', { cron, zone: 'UTC' }, at('12:00:00'))).toThrow(hint);
  });

  test.each(['0 0 L * *', '0 0 0 * * MON#2', '*/15 8-17 * * 1-5', '0 0 1,15 JAN-MAR *', '0 0 * * 7'])(
    '%s is accepted',
    (cron) => {
      expect(validCron('schedule s', { cron, zone: 'UTC' }, at('12:00:00')).cron).toBe(cron);
    },
  );

  test.each([
    ['Europe/Berlin', '30 2 * * *', ['2027-03-28T01:30Z']],
    ['Europe/Berlin', '*/20 2 * * SUN', ['2027-03-28T01:00Z', '2027-03-28T01:20Z', '2027-03-28T01:40Z']],
    ['America/New_York', '0 0 2 14 3 *', ['2027-03-14T07:00Z']],
    ['Australia/Lord_Howe', '15 2 * * *', ['2027-10-02T15:45Z']],
    ['Europe/Berlin', '30 * * * *', []],
    ['Europe/Berlin', '30 3 * * *', []],
    ['UTC', '30 2 * * *', []],
  ])('in %s, %s has no moment for %j of a year', (zone, cron, left) => {
    const year = { after: Date.parse('2027-01-01T00:00Z'), before: Date.parse('2027-12-31T00:00Z') };

    expect(occurrencesWithoutMoment({ cron, zone }, year)).toEqual(left.map((one) => Date.parse(one)));
  });

  test.each(['0-23', '0-11,12-23', '*'])('hours %s include the hour that is repeated in autumn', (hours) => {
    const times = { cron: `0 ${hours} * * *`, zone: 'Europe/Berlin' };

    expect(occurrenceAfter(times, Date.parse('2027-10-31T00:00:00Z'))).toBe(Date.parse('2027-10-31T01:00:00Z'));
  });
});
