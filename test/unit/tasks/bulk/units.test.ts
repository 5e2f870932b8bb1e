/**
 * What a task in bulk costs, by our own capacity model: the simulated table charges by it, transactions and indexes included.
 * DynamoDB Local's own figures for the same verbs, but for transactions, which it does not double, are in `conformance/bulk`.
 */
import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

/** 60 bytes as JSON each, of which half cannot be compressed. */
const inputs = Array.from({ length: 16 }, (_, n) => ({
  bucket: 'eu',
  key: `${hash('sha256', String(n)).slice(0, 32)}.jpg`,
}));

describe('a pack of 16 tasks of 60 bytes', () => {
  test('has inputs of 60 bytes', () => {
    expect(inputs.map((input) => Buffer.byteLength(JSON.stringify(input)))).toEqual(
      Array.from({ length: 16 }, () => 60),
    );
  });

  test('costs 5 units when its tasks are fast: 0.31 a task', async () => {
    const noop = defineTask({ name: 'noop', run: () => undefined });
    const q = openMemoryQueue();
    await q.client.enqueueBulk(noop, inputs);

    expect((await q.work({ noop }))?.settled.done).toBe(16);

    expect(q.taskUnits()).toEqual({ 'pack.enqueue': 2, 'task.claim': 1, 'pack.finish': 2 });
  });

  test('costs 20 when each end is recorded by itself: 1.25 a task, and no more', async () => {
    const noop = defineTask({ name: 'noop', bulk: { flushInterval: 0 }, run: () => undefined });
    const q = openMemoryQueue();
    await q.client.enqueueBulk(noop, inputs);

    await q.work({ noop });

    // The last end goes with the pack's own.
    const units = q.taskUnits();
    expect(units).toEqual({ 'pack.enqueue': 2, 'task.claim': 1, 'pack.record': 15, 'pack.finish': 2 });
    expect(sum(units) / 16).toBeLessThanOrEqual(1.3);
  });

  test('costs two more units for each task that commits, plus its own writes', async () => {
    const committing = defineTask({ name: 'committing', run: (_: unknown, task) => task.commit() });
    const q = openMemoryQueue();
    await q.client.enqueueBulk(committing, inputs);

    await q.work({ committing });

    expect(q.taskUnits()).toEqual({ 'pack.enqueue': 2, 'task.claim': 1, 'pack.commit': 32, 'pack.finish': 2 });
  });

  test('costs five more units for each task that fails and leaves, and then the cost of a plain task', async () => {
    let calls = 0;
    const flaky = defineTask({
      name: 'flaky',
      retry: { backoff: 0 },
      run() {
        if (calls++ === 0) throw new Error('boom');
      },
    });
    const q = openMemoryQueue();
    await q.client.enqueueBulk(flaky, inputs);

    await q.work({ flaky });

    expect(q.taskUnits()).toEqual({
      'pack.enqueue': 2,
      'task.claim': 2,
      'pack.finish': 2,
      // The pack twice, the new row twice, and its entry of the index.
      'pack.move': 5,
      'task.complete': 2,
    });
  });

  test('costs a sixteenth of what they cost one by one', async () => {
    const noop = defineTask({ name: 'noop', run: () => undefined });
    const q = openMemoryQueue();
    for (const input of inputs) await q.client.enqueue(noop, input);

    await q.work({ noop });

    expect(q.taskUnits()).toEqual({ 'task.enqueue': 32, 'task.claim': 16, 'task.complete': 32 });
  });
});

function sum(units: Readonly<Record<string, number>>): number {
  return Object.values(units).reduce((total, each) => total + each, 0);
}
