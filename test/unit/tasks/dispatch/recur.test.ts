/** Ticks of a queue with more due schedules than one tick serves, over the whole stack down to a DynamoDB in memory. */
import { expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { scheduleKey } from '../../../../shared/dynamo/engine/keys.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';
import { enqueueDueOccurrences } from '../../../../shared/tasks/dispatch/recur.ts';
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
  const schedulesOf = (to: DynamoDriver) =>
    createScheduleStore(new Sender({ driver: to, runtime }), { table: TABLE, shards: 1 });
  const tasks = createTaskStore(new Sender({ driver, runtime }), { table: TABLE, shards: 1 });
  const schedules = schedulesOf(driver);
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
      const made = await enqueueDueOccurrences(QUEUE, ports, (error) => void reported.push(error));
      return { made, reported: reported.map(String) };
    },
    /** A tick whose process dies after a number of writes. @returns whether it died */
    async tickUntil(writes: number): Promise<boolean> {
      const died = Promise.withResolvers<true>();
      let left = writes;
      const mortal: DynamoDriver = {
        attempt(kind, input, signal) {
          const isWrite = kind !== 'get' && kind !== 'batchGet' && kind !== 'query';
          if (!isWrite || left-- > 0) return driver.attempt(kind, input, signal);
          died.resolve(true);
          return new Promise(() => {});
        },
      };
      const ports = { schedules: schedulesOf(mortal), runtime };
      return Promise.race([died.promise, enqueueDueOccurrences(QUEUE, ports, () => {}).then(() => false)]);
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

test.each(['queue', 'skip', 'replace', 'allow'] as const)(
  'makes each due occurrence once if the tick dies between any two writes: overlap %s',
  async (overlap) => {
    const occurrences = ['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z'];
    for (let writes = 0, dies = true; dies; writes++) {
      const q = open();
      await q.client.define('hourly', 'report', {}, { cron: '0 * * * *', overlap, missed: 'all' });
      await q.clock.advance(2 * HOUR_MS);

      dies = await q.tickUntil(writes);
      await q.tick();

      const made = await Promise.all(occurrences.map((at) => q.tasks.get({ queue: QUEUE, id: `hourly@${at}` })));
      const wanted = overlap === 'skip' ? [occurrences[0], undefined] : occurrences;
      expect(made.map((task) => task && new Date(task.schedule?.at ?? NaN).toISOString())).toEqual(wanted);
    }
  },
);

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

test('covers each moment once by occurrences that were missed before a run by hand', async () => {
  const q = open();
  await q.client.define('hourly', 'report', {}, { cron: '0 * * * *', missed: 'all' });
  await q.clock.advance(HOUR_MS);
  await q.tick();
  await q.clock.advance(3 * HOUR_MS);
  const run = await q.client.run('hourly');
  await q.tick();

  const occurrences = [1, 2, 3, 4].map((hour) => `hourly@2026-01-01T0${hour}:00:00.000Z`);
  const ids = [...occurrences, run.kind === 'enqueued' ? run.task.id : ''];
  const made = await Promise.all(ids.map((id) => q.tasks.get({ queue: QUEUE, id })));
  const spans = made.map((task) =>
    [task?.schedule?.since, task?.schedule?.at].map((ms) => ms && new Date(ms).toISOString().slice(11, 16)),
  );
  expect(spans).toEqual([
    [undefined, '01:00'],
    ['02:00', '02:00'],
    ['03:00', '03:00'],
    ['04:00', '04:00'],
    ['01:00', '04:30'],
  ]);
});
