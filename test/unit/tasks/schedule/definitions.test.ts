/** A schedule without further occurrences, and one that is not paused. */
import { describe, expect, test } from 'vitest';
import { schedulesOf } from '../../../../shared/client/schedules-of.ts';
import { defineSchedule } from '../../../../shared/tasks/schedule/declaration.ts';
import { STARTS_AT } from '../../../support/coordination.ts';
import { Story } from '../../../support/story.ts';

const HOUR = 3_600_000;
const NOON = Date.parse(STARTS_AT);

describe('a schedule without an occurrence before its end', () => {
  const CRON = { cron: '0 * * * *' };

  test.each([HOUR / 2, -HOUR])('is refused, if it ends %i ms from now', async (ms) => {
    const { leasehold } = new Story().here;

    await expect(schedulesOf(leasehold).define('s', 'report', {}, { ...CRON, endAt: NOON + ms })).rejects.toThrow(
      'schedule s: no occurrence from now',
    );
  });

  test('is reported if a module has it, and the others are defined', async () => {
    const { leasehold } = new Story().here;
    const module = Object.entries({ old: { endAt: NOON - HOUR }, new: {} }).map(([name, options]) =>
      defineSchedule(name, 'report', {}, { ...CRON, ...options }),
    );
    const ended: string[] = [];

    await schedulesOf(leasehold).defineAll(module, ({ name }) => void ended.push(name));

    expect(ended).toEqual(['old']);
    expect((await schedulesOf(leasehold).get('new'))?.nextAt).toBe(NOON + HOUR);
  });
});

test('resuming a schedule that is not paused keeps the occurrences that it owes', async () => {
  const { here, world } = new Story();
  const schedules = schedulesOf(here.leasehold);
  await schedules.define('s', 'report', {}, { cron: '0 * * * *' });
  world.clock.step(2 * HOUR);

  await schedules.resume('s');

  expect((await schedules.get('s'))?.nextAt).toBe(NOON + HOUR);
});
