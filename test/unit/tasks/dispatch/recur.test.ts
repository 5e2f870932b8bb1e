/** Ticks of a queue with more due schedules than one tick serves, over the whole stack down to a DynamoDB in memory. */
import { expect, test } from 'vitest';
import { scheduleKey } from '../../../../shared/dynamo/engine/keys.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';
import { enqueueDueSlots } from '../../../../shared/tasks/dispatch/recur.ts';
import { createScheduleStore } from '../../../../shared/tasks/rows/dynamo-schedule-store.ts';
import { createTaskStore } from '../../../../shared/tasks/rows/task/dynamo-task-store.ts';
import { ScheduleClient } from '../../../../shared/tasks/schedule/schedule-client.ts';
import { SCHEDULES_PER_TICK } from '../../../../shared/tasks/schedule/schedule.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';
import { memoryDynamo } from '../../../../shared/testing/memory-table.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';

const TABLE = 'leasehold';
const QUEUE = 'q';
const HOUR_MS = 3_600_000;

function open() {
  let begins = 0;
  const clock = new FakeClock(new Date('2026-01-01T00:30:00Z'));
  const runtime = { clock, random: { next: () => (begins = (begins + 0.37) % 1) }, ids: systemIds };
  const driver = simulatedDriver(memoryDynamo(TABLE, () => clock.now()));
  const sender = new Sender({ driver, runtime });
  const tasks = createTaskStore(sender, { table: TABLE, shards: 1 });
  const schedules = createScheduleStore(sender, { table: TABLE, shards: 1 });
  return {
    clock,
    tasks,
    client: new ScheduleClient({ schedules, runtime }, { queue: QUEUE }),
    /** Writes a row past the library: due since 1970, and with nothing that a schedule has. */
    async flood(name: string): Promise<void> {
      const Item = { ...scheduleKey(QUEUE, name), readyKey: `schedule#${QUEUE}`, readyAt: 1 };
      await driver.attempt('put', { TableName: TABLE, Item }, new AbortController().signal);
    },
    async tick() {
      const reported: unknown[] = [];
      const ports = { schedules, runtime };
      const made = await enqueueDueSlots(QUEUE, ports, (error) => void reported.push(error));
      return { made, reported: reported.map(String) };
    },
  };
}

test('serves a limited number of schedules per tick, reports how many wait, and serves the rest once in later ticks', async () => {
  const q = open();
  const count = SCHEDULES_PER_TICK + 10;
  for (let n = 0; n < count; n++) await q.client.define(`s${n}`, 'report', {}, { cron: '0 * * * *' });
  await q.clock.advance(HOUR_MS);

  expect(await q.tick()).toEqual({
    made: SCHEDULES_PER_TICK,
    reported: [
      `Error: ${count} schedules of queue q are due, and one tick serves ${SCHEDULES_PER_TICK}: the others wait for later ticks`,
    ],
  });
  expect(await q.tick()).toEqual({ made: 10, reported: [] });
  expect(await q.tick()).toEqual({ made: 0, reported: [] });
});

test('starves no schedule because of foreign rows that stay due forever', async () => {
  const q = open();
  for (let n = 0; n < 2 * SCHEDULES_PER_TICK; n++) await q.flood(`flood${n}`);
  for (let n = 0; n < 3; n++) await q.client.define(`good${n}`, 'report', {}, { cron: '0 * * * *' });
  await q.clock.advance(HOUR_MS);

  let made = 0;
  for (let tick = 0; tick < 20 && made < 3; tick++) {
    const report = await q.tick();
    made += report.made;
    // One report for the number that is due, and one for each row of the flood that was read.
    expect(report.reported.length).toBeLessThanOrEqual(SCHEDULES_PER_TICK + 1);
  }

  expect(made).toBe(3);
});
