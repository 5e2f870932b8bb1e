/** The duration metrics that a worker prints, parsed like CloudWatch does. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TaskTimeMetrics } from '../../functions/task-times.ts';
import { createTelemetry } from '../../functions/runtime.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { TaskTimes } from '../../shared/tasks/worker/tally.ts';
import { createTestKit } from '../../shared/testing/kit.ts';
import { dataPointsOf } from '../support/cloudwatch.ts';

const ADDRESS = { table: 'leases', queue: 'media' };
let printed: string;

beforeEach(() => {
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    printed += String(chunk);
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

const points = () => dataPointsOf(printed);

test('records no time below zero, which clocks that differ may show', () => {
  const times = new TaskTimeMetrics(createTelemetry(ADDRESS).metrics, []);
  times.record('resize', { waitMs: -40 });
  times.write();

  expect(points().map(({ value }) => value)).toEqual([0]);
});

test('writes a thousand values as lines of at most a hundred, without loss or confusion of names', () => {
  const times = new TaskTimeMetrics(createTelemetry(ADDRESS).metrics, ['a']);
  for (let n = 0; n < 1_000; n++) times.record(n % 2 === 0 ? 'a' : 'b', { waitMs: n });
  times.write();

  const ofA = points().filter(({ dimensions }) => dimensions.task === 'a');
  expect(ofA.map(({ value }) => value).sort((x, y) => x - y)).toEqual(Array.from({ length: 500 }, (_, n) => 2 * n));
  expect(points().filter(({ dimensions }) => dimensions.task === undefined)).toHaveLength(1_000);
  expect(Math.max(...printed.split('\n').map((line) => line.length))).toBeLessThan(2_000);
});

test('reports the wait at the claim, and the run and total time when the task is done', async () => {
  const told: (readonly [string, TaskTimes])[] = [];
  let calls = 0;
  const slow = defineTask({
    name: 'slow',
    retry: { maxAttempts: 3, backoff: '10s' },
    async run() {
      await kit.clock.advance(2_000);
      if (++calls === 1) throw new Error('once');
    },
  });
  const onTimed = (name: string, times: TaskTimes): void => {
    told.push([name, times]);
  };
  const kit = createTestKit({ tasks: { slow }, onTimed });
  await kit.tasks.enqueue(slow, {}, { id: 's', delay: '1s' });
  await kit.advance('4s');
  await kit.drain();
  await kit.advance('60s');
  await kit.drain();

  const task = await kit.tasks.get('s');
  const [past] = task?.past ?? [];
  expect(told.map(([name, times]) => [name, Object.keys(times)])).toEqual([
    ['slow', ['waitMs']],
    ['slow', ['waitMs']],
    ['slow', ['runMs', 'endToEndMs']],
  ]);
  expect(told[0]?.[1].waitMs).toBe(3_000);
  expect(told[1]?.[1].waitMs).toBeLessThan((task?.claimedAt ?? 0) - (past?.endedAt ?? 0));
  expect(told[2]?.[1]).toEqual({ runMs: 2_000, endToEndMs: 4_000 + 2_000 + 60_000 + 2_000 });
});
