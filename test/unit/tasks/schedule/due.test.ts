/**
 * Which slots are due, which is next, and which are left out, one millisecond before, at and after each edge of a schedule's times.
 *
 * After an intended change: `npx vitest run test/unit/tasks/schedule/due.test.ts -u`, and read the difference.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lastSlotWithin } from '../../../../shared/tasks/schedule/cron.ts';
import type { ScheduleRecord } from '../../../../shared/tasks/schedule/schedule.ts';
import {
  HORIZON_MS,
  MISSED_POLICIES,
  dueSlots,
  jitterOf,
  lastSlot,
  nextSlot,
  slotOf,
} from '../../../../shared/tasks/schedule/schedule.ts';
import { schedule } from '../../../support/made-rows.ts';

const MINUTE = 60_000;
const at = (time: string): number => Date.parse(`2026-11-27T${time}Z`);
const time = (moment: number | undefined): string =>
  moment === undefined
    ? 'none'
    : new Date(moment)
        .toISOString()
        .replace(/^2026-11-27T/, '')
        .replace(/(:00)?\.000Z$|Z$/, '');
/** A moment, and its neighbours. */
const around = (moment: number): readonly number[] => [moment - 1, moment, moment + 1];

const EVERY_TEN = { cron: '*/10 * * * *', zone: 'UTC' };
const SPANS: Readonly<Record<string, Pick<ScheduleRecord, 'startAt' | 'endAt'>>> = {
  always: { startAt: undefined, endAt: undefined },
  'from 12:20': { startAt: at('12:20:00'), endAt: undefined },
  'from just after 12:20': { startAt: at('12:20:00.001'), endAt: undefined },
  'until 12:40': { startAt: undefined, endAt: at('12:40:00') },
  'until just after 12:40': { startAt: undefined, endAt: at('12:40:00.001') },
  'from 12:20 until 12:30': { startAt: at('12:20:00'), endAt: at('12:30:00') },
  'from 12:21 until 12:30': { startAt: at('12:21:00'), endAt: at('12:30:00') },
};

function* linesOfSpans(): Generator<string> {
  for (const [name, span] of Object.entries(SPANS)) {
    yield `every ten minutes, ${name}`;
    const row = schedule('s', { ...EVERY_TEN, ...span });
    const edges = [at('12:10:00'), ...Object.values(span).filter((edge) => edge !== undefined)];
    for (const moment of edges.flatMap(around)) {
      const last = lastSlot(row, { from: at('12:00:00.001'), until: moment });
      yield `  ${time(moment)}: next ${time(nextSlot(row, moment))}, last ${time(last)}`;
    }
    for (const missed of MISSED_POLICIES)
      for (const now of edges.flatMap(around)) {
        const nextAt = nextSlot(row, at('12:09:00')) ?? Infinity;
        const due = dueSlots({ ...row, missed, toleranceMs: 5 * MINUTE, nextAt }, now);
        yield `  ${missed}, of ${nextAt === Infinity ? 'none' : time(nextAt)} on, at ${time(now)}: ${toldOf(due)}`;
      }
  }
}

function toldOf({ slots, late, nextAt }: ReturnType<typeof dueSlots>): string {
  const made =
    slots.length > 3 ? `${time(slots[0])} … ${time(slots.at(-1))} (${slots.length})` : slots.map(time).join(' ');
  const left = late === undefined ? '' : `, too late ${time(late)}`;
  return `${made === '' ? 'nothing' : made}${left}, next ${nextAt === Infinity ? 'none' : time(nextAt)}`;
}

function* linesOfOutages(): Generator<string> {
  const hourly = schedule('s', { cron: '0 * * * *', toleranceMs: 10 * MINUTE, nextAt: at('09:00:00') });
  yield 'hourly, owed since 09:00, with a tolerance of ten minutes';
  for (const missed of MISSED_POLICIES)
    for (const now of ['09:00:00', '09:10:00', '10:00:00', '11:10:00'].map(at).flatMap(around))
      yield `  ${missed} at ${time(now)}: ${toldOf(dueSlots({ ...hourly, missed }, now))}`;
  const often = schedule('s', { cron: '* * * * *', missed: 'all', nextAt: at('00:00:00') });
  yield 'each minute, owed since 00:00';
  for (const minutes of [98, 99, 100, 101])
    yield `  all after ${minutes} minutes: ${toldOf(dueSlots(often, often.nextAt + minutes * MINUTE))}`;
  yield 'hourly, owed for a week';
  for (const missed of MISSED_POLICIES)
    for (const now of around(hourly.nextAt + HORIZON_MS))
      yield `  ${missed} at ${time(now)}: ${toldOf(dueSlots({ ...hourly, missed }, now))}`;
}

test('at each edge', async () => {
  await expect(`${[...linesOfSpans(), ...linesOfOutages()].join('\n')}\n`).toMatchFileSnapshot('./due.golden.txt');
});

describe('the last slot of a span', () => {
  const edge = fc.record({ second: fc.integer({ min: 0, max: 40 }), more: fc.constantFrom(-1, 0, 0, 1, 500) });
  const seconds = fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 40 });

  test('is the one that a walk through the span meets last', () => {
    fc.assert(
      fc.property(seconds, edge, edge, (all, start, end) => {
        const slots = all.map((second) => second * 1_000).sort((a, b) => a - b);
        const [from, until] = [start, end].map(({ second, more }) => second * 1_000 + more) as [number, number];

        const found = lastSlotWithin((after) => slots.find((slot) => slot > after), { from, until });

        expect(found).toBe(slots.findLast((slot) => from <= slot && slot <= until));
      }),
      { seed: 7, numRuns: 2_000 },
    );
  });
});

test('the tasks of a thousand schedules are spread over the jitter, each always by the same part of it', () => {
  const names = Array.from({ length: 1_000 }, (_, n) => `schedule-${n}`);
  const spread = names.map((name) => jitterOf({ name, jitterMs: 1_000 }));

  expect(names.map((name) => jitterOf({ name, jitterMs: 1_000 }))).toEqual(spread);
  expect(Math.min(...spread)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...spread)).toBeLessThan(1_000);
  for (let tenth = 0; tenth < 10; tenth++)
    expect(spread.filter((ms) => Math.floor(ms / 100) === tenth).length).toBeGreaterThan(60);
  expect(names.map((name) => jitterOf({ name, jitterMs: 0 }))).toEqual(names.map(() => 0));
});

test.each([
  ['none', undefined, 5, undefined],
  ['an earlier one', 3, 5, 3],
  ['the same', 5, 5, 5],
  ['a later one', 7, 5, 5],
])('a slot whose latest was %s covers what no task covers yet', (_what, lastAt, slot, since) => {
  expect(slotOf({ name: 's', lastAt }, slot)).toEqual({ name: 's', at: slot, since });
});
