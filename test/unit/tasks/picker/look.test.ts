/**
 * The workers' cost of finding their tasks, and proof that they find every task:
 * in simulated time, so the figures are the same on any machine.
 */
import { describe, expect, test } from 'vitest';
import { drain } from '../../../../bench/drain.ts';
import { simulatedWorld } from '../../../../bench/table.ts';
import { PLAIN, enqueueMix, noop } from '../../../../bench/task-mix.ts';
import type { TaskClient } from '../../../../shared/tasks/queue/task-client.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';

const settings = { queue: 'q', shards: 8, workers: 1, concurrency: 4, pollMs: 1_000 };

describe('the look for tasks', () => {
  test.each([1, 4, 8])('costs little more than the reading of each row once, with %d workers', async (workers) => {
    const tasks = 1_000;
    const { cost, claimsRefused, done } = await drain(
      simulatedWorld(),
      { ...settings, workers },
      { noop },
      (client: TaskClient) => enqueueMix(client, tasks, PLAIN, 32),
    );

    expect(done).toBe(tasks);
    expect(cost.readUnits / tasks).toBeLessThan(0.75);
    expect(claimsRefused / tasks).toBeLessThan(0.05);
  });

  test('leaves the tasks of other shards to their workers while a worker has some of its own', async () => {
    const world = simulatedWorld();
    const { clock } = world.placeOf('task code').runtime;
    const { cost, claimed, claimsRefused } = await drain(
      world,
      { ...settings, shards: 16, workers: 16, concurrency: 10 },
      { noop: defineTask({ name: 'noop', run: () => clock.sleep(20) }) },
      (client) => enqueueMix(client, 1_000, PLAIN, 32),
    );

    expect(cost.readUnits / 1_000).toBeLessThan(0.76);
    expect(claimsRefused / claimed).toBeLessThan(0.01);
  });

  test('has few claims refused where many workers share a shard', async () => {
    const { cost, claimed, claimsRefused, done } = await drain(
      simulatedWorld(),
      { ...settings, shards: 2, workers: 12 },
      { noop },
      (client) => enqueueMix(client, 1_000, PLAIN, 32),
    );

    expect(done).toBe(1_000);
    expect(claimsRefused / claimed).toBeLessThan(0.05);
    expect(cost.writeUnits / 1_000).toBeLessThan(5.2);
  });

  test.each([
    { hasPriorities: true },
    { tenants: 7 },
    { keys: 5 },
    { lines: 5 },
    { retries: 20 },
    { hasPriorities: true, tenants: 3, retries: 10 },
  ])('leaves nothing behind of %o', async (mix) => {
    const { done } = await drain(simulatedWorld(), { ...settings, workers: 3 }, { noop }, (client) =>
      enqueueMix(client, 120, { ...PLAIN, ...mix }, 32),
    );

    expect(done).toBe(120);
  });

  test('runs the callback of a batch at once, though the worker of its shard has ended', async () => {
    const children = Array.from({ length: 200 }, () => ({ task: 'noop', input: null, options: {} }));
    const then = { task: 'noop', input: null, options: {} };
    const { done } = await drain(
      simulatedWorld({ conflicts: true }),
      { ...settings, workers: 20 },
      { noop: defineTask({ name: 'noop', run: () => undefined }) },
      (client) => client.enqueueBatch(children, { id: 'batch', then }),
    );

    expect(done).toBe(201);
  });

  // Its polls of higher priorities take longer than until the first of them is due again.
  test('reaches tasks of low priority in a store that responds slowly', async () => {
    let sent = 0;
    const isLost = (): boolean => {
      if (++sent > 5_000) throw new Error('polls without end');
      return false;
    };
    const { done } = await drain(
      simulatedWorld({ requestMs: 700, isLost }),
      { ...settings, pollMs: 500 },
      { noop },
      (client) => enqueueMix(client, 60, { ...PLAIN, hasPriorities: true, tenants: 3 }, 32),
    );

    expect(done).toBe(60);
  });

  test('reads no tenants in a queue without any, except once before exit', async () => {
    const { cost } = await drain(simulatedWorld(), settings, { noop }, (client) => enqueueMix(client, 500, PLAIN, 32));

    // Three priorities in each shard; one that was polled while a task ended is polled again.
    expect(cost.byVerb['task.pageOfGroups']?.requests).toBeLessThanOrEqual(3 * settings.shards + settings.concurrency);
  });

  test('finds a task in a lane that no tick has seen before the worker exits', async () => {
    const world = simulatedWorld();
    let queue: TaskClient | undefined;
    const parent = defineTask({
      name: 'parent',
      run: async () => {
        await queue?.enqueue('noop', { n: 1 }, { id: 'child', priority: 'high', tenant: 'acme' });
      },
    });

    const { done } = await drain(world, settings, { parent, noop }, async (client) => {
      queue = client;
      await client.enqueue(parent, {}, { id: 'parent' });
    });

    expect(done).toBe(2);
  });
});
