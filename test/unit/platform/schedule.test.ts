import { describe, expect, test } from 'vitest';
import type { ScheduleEvent, ScheduleOptions } from '../../../examples/platform/schedule.ts';
import { startSchedule } from '../../../examples/platform/schedule.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const MINUTE = 60_000;

/** Draws the given numbers, then 0.99 forever: chance that never strikes. */
function drawing(...numbers: readonly number[]): ScheduleOptions['random'] {
  const left = [...numbers];
  return { next: () => left.shift() ?? 0.99 };
}

function scheduleWith(overrides: Partial<ScheduleOptions> = {}) {
  const clock = new ManualClock('2026-01-01T00:00:00.000Z');
  const delivered: { scheduledTime: string; at: string }[] = [];
  const deliver = async ({ scheduledTime }: ScheduleEvent) => {
    delivered.push({
      scheduledTime: scheduledTime.slice(11, 19),
      at: new Date(clock.now()).toISOString().slice(11, 19),
    });
  };
  const schedule = startSchedule({
    name: 'every-minute',
    everyMs: MINUTE,
    clock,
    random: drawing(),
    deliver,
    ...overrides,
  });
  return { clock, delivered, schedule };
}

describe('startSchedule', () => {
  const EACH = ['00:00:00 at 00:00:00', '00:01:00 at 00:01:00', '00:02:00 at 00:02:00'];

  test.each<
    [
      what: string,
      options: Partial<ScheduleOptions>,
      passes: readonly (readonly ['passes' | 'steps', number])[],
      delivers: readonly string[],
    ]
  >([
    ['the first tick at once and the others at the rate', {}, [['passes', 2 * MINUTE]], EACH],
    [
      'twice at the same time, with the same scheduled time',
      // A twin, a concurrent one.
      { duplicateRate: 0.5, random: drawing(0.1, 0.1) },
      [['passes', 0]],
      ['00:00:00 at 00:00:00', '00:00:00 at 00:00:00'],
    ],
    [
      'a later twin shortly after, with the same scheduled time',
      { duplicateRate: 0.5, random: drawing(0.1, 0.9, 1) },
      [['passes', 10_000]],
      ['00:00:00 at 00:00:00', '00:00:00 at 00:00:02'],
    ],
    [
      'the twin of a short period long before the next tick',
      { everyMs: 3_000, duplicateRate: 0.5, random: drawing(0.1, 0.9, 1) },
      [['passes', 2_000]],
      ['00:00:00 at 00:00:00', '00:00:00 at 00:00:01'],
    ],
    [
      'every tick twice at a rate of one',
      { duplicateRate: 1 },
      [['passes', MINUTE + 5_000]],
      ['00:00:00 at 00:00:00', '00:00:00 at 00:00:01', '00:01:00 at 00:01:00', '00:01:00 at 00:01:01'],
    ],
    [
      'only the latest tick after the machine has slept through some',
      {},
      [
        ['passes', 1_000],
        ['steps', 10 * MINUTE],
        ['passes', MINUTE],
      ],
      ['00:00:00 at 00:00:00', '00:11:00 at 00:11:00'],
    ],
    [
      'its ticks after the wall clock was set forward',
      {},
      [
        ['passes', 1_000],
        ['steps', 20_000],
        ['passes', 2 * MINUTE],
      ],
      ['00:00:00 at 00:00:00', '00:01:00 at 00:01:20', '00:02:00 at 00:02:00'],
    ],
    ['nothing twice unless it was asked to', { random: { next: () => 0 } }, [['passes', 2 * MINUTE + 5_000]], EACH],
  ])('delivers %s', async (_what, options, passes, delivers) => {
    const { clock, delivered } = scheduleWith(options);

    for (const [how, ms] of passes)
      if (how === 'passes') await clock.advance(ms);
      else clock.step(ms);

    expect(delivered.map(({ scheduledTime, at }) => `${scheduledTime} at ${at}`)).toEqual(delivers);
  });

  test('delivers nothing after it was stopped, not even a late twin', async () => {
    const { clock, delivered, schedule } = scheduleWith({
      duplicateRate: 1,
      random: drawing(0, 0.9, 1),
    });
    await clock.advance(500);

    await schedule.stop();
    await clock.advance(5 * MINUTE);

    expect(delivered).toHaveLength(1);
  });

  test('pauses longer after each refusal, up to ten seconds', async () => {
    const offeredAt: number[] = [];
    const { clock } = scheduleWith({
      everyMs: 60 * MINUTE,
      random: drawing(...Array.from({ length: 20 }, () => 0.5)),
      deliver: async () => {
        await Promise.resolve();
        offeredAt.push(clock.monotonic());
        throw new Error('refused');
      },
    });

    await clock.advance(27_000);

    expect(offeredAt).toEqual([0, 50, 150, 350, 750, 1_550, 3_150, 6_350, 11_350, 16_350, 21_350, 26_350]);
  });

  test('has stopped once the delivery that was under way is over', async () => {
    const delivery = Promise.withResolvers<undefined>();
    const { clock, schedule } = scheduleWith({ deliver: () => delivery.promise });
    await clock.advance(500);

    let hasStopped = false;
    const stopping = schedule.stop().then(() => {
      hasStopped = true;
    });
    await clock.advance(5 * MINUTE);
    const before = hasStopped;
    delivery.resolve(undefined);
    await stopping;

    expect({ before, hasStopped }).toEqual({ before: false, hasStopped: true });
  });
});
