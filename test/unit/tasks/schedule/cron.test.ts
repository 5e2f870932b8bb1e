import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import type { CronTimes } from '../../../../shared/tasks/schedule/cron.ts';
import { lastSlotWithin, slotAfter, validCron } from '../../../../shared/tasks/schedule/cron.ts';
import type { ScheduleRecord } from '../../../../shared/tasks/schedule/schedule.ts';
import { dueSlots } from '../../../../shared/tasks/schedule/schedule.ts';

const HOURLY = { cron: '0 * * * *', zone: 'UTC' };
const at = (time: string): number => Date.parse(`2026-11-21T${time}Z`);

const YEARS_MS = 4 * 366 * 86_400_000;
const slotUpTo = (times: CronTimes, until: number) =>
  lastSlotWithin((after) => slotAfter(times, after), { from: until - YEARS_MS, until });

describe('the last slot up to a moment', () => {
  test.each([
    ['12:00:00.000', '12:00:00'],
    ['12:00:00.001', '12:00:00'],
    ['12:59:58.999', '12:00:00'],
    ['12:59:59.000', '12:00:00'],
    ['12:59:59.001', '12:00:00'],
    ['12:59:59.999', '12:00:00'],
    ['13:00:00.000', '13:00:00'],
  ])('at %s is %s', (moment, slot) => {
    expect(slotUpTo(HOURLY, at(moment))).toBe(at(slot));
  });

  test.each(['12:00:00.000', '12:00:00.001', '12:00:00.999'])(
    'returns second %s for a pattern of every second',
    (moment) => {
      expect(slotUpTo({ cron: '* * * * * *', zone: 'UTC' }, at(moment))).toBe(at('12:00:00'));
    },
  );

  test('is never after the moment, and nothing lies between it and the next', () => {
    for (let moment = at('11:59:57'); moment < at('12:00:03'); moment += 37) {
      const slot = slotUpTo(HOURLY, moment)!;
      expect(slot).toBeLessThanOrEqual(moment);
      expect(slotAfter(HOURLY, slot)).toBeGreaterThan(moment);
    }
  });
});

test('enqueues the last missed run just before the next, not the first', () => {
  const schedule = { ...HOURLY, missed: 'last', nextAt: at('09:00:00') } as ScheduleRecord;

  expect(dueSlots(schedule, at('12:59:59.500'))).toEqual({ slots: [at('12:00:00')], nextAt: at('13:00:00') });
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
  ])('that come never or once in years (%s) still have their last slot, or none', (cron, slot) => {
    expect(slotUpTo({ cron, zone: 'UTC' }, NOW)).toBe(slot === undefined ? undefined : Date.parse(slot));
  });
});
