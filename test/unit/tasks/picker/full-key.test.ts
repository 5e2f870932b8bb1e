/** A key without room, in virtual time: it holds up its own tasks and nothing else. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { EnqueueOptions } from '../../../../shared/tasks/queue/task-client.ts';
import { HandedBackError } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

const MINUTE_MS = 60_000;
let q: MemoryQueue;

beforeEach(() => {
  q = openMemoryQueue();
});

const fill = (count: number, options: EnqueueOptions) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      q.client.enqueue('keyed', {}, { id: `k${n}`, key: 'customer', ...options }),
    ),
  );

describe('a key that is full', () => {
  test('delays no other tasks, even if many keys are full', async () => {
    q = openMemoryQueue((driver) => ({
      ...driver,
      attempt: async (verb, input, signal) => {
        await q.clock.sleep(5);
        return driver.attempt(verb, input, signal);
      },
    }));
    const enqueue = (name: string, half: string) =>
      Promise.all(
        Array.from({ length: 600 }, (_, n) =>
          q.client.enqueue(name, {}, { id: `${half}${n}`, key: `customer ${n}`, limit: 1 }),
        ),
      );
    const waited: number[] = [];
    const handBack = new AbortController();
    const held = defineTask({ name: 'held', run: (_input, { signal }) => q.clock.sleep(60 * MINUTE_MS, signal) });
    // Keeps its worker from exiting.
    const long = defineTask({ name: 'long', run: (_input, { signal }) => q.clock.sleep(60 * MINUTE_MS, signal) });
    const keyed = defineTask({ name: 'keyed', run: () => undefined });
    const free = defineTask({
      name: 'free',
      run: ({ at }: { at: number }) => void waited.push(q.clock.monotonic() - at),
    });
    const story = async (): Promise<void> => {
      await enqueue('held', 'h');
      const holding = q.work({ held }, { concurrency: 600, handBack: handBack.signal });
      await q.clock.sleep(10_000);
      await enqueue('keyed', 'k');
      await q.client.enqueue('long', {}, { id: 'long' });
      const working = q.work({ keyed, free, long }, { concurrency: 5, handBack: handBack.signal });
      for (let n = 0; n < 20; n++) {
        await q.clock.sleep(1_000);
        await q.client.enqueue('free', { at: q.clock.monotonic() }, { id: `f${n}` });
      }
      await q.clock.sleep(5_000);
      handBack.abort(new HandedBackError('deadline'));
      await Promise.all([holding, working]);
    };

    await q.clock.runUntil(story(), () => true);

    expect(waited).toHaveLength(20);
    expect(Math.max(...waited)).toBeLessThan(2_000);
  });

  test('passes its slot on without reading the key, as long as it knows the next task', async () => {
    await fill(60, { limit: 1 });

    const report = await q.work(
      { keyed: defineTask({ name: 'keyed', run: () => q.clock.sleep(5) }) },
      { concurrency: 4 },
    );

    expect(report?.claimed).toBe(60);
    const { byVerb } = q.meter.read();
    expect(byVerb['key.get']?.requests).toBeLessThan(40);
  });

  test('has its next tasks read while the last known one runs', async () => {
    q = openMemoryQueue((driver) => ({
      ...driver,
      attempt: async (verb, input, signal) => {
        await q.clock.sleep(5);
        return driver.attempt(verb, input, signal);
      },
    }));
    await q.clock.runUntil(fill(200, { limit: 1 }), () => true);
    let endedAt = Infinity;
    let late = 0;
    const keyed = defineTask({
      name: 'keyed',
      async run() {
        // Its claim, and the end before it, take five each.
        if (q.clock.monotonic() - endedAt > 10) late++;
        await q.clock.sleep(20);
        endedAt = q.clock.monotonic();
      },
    });

    expect(await q.work({ keyed }, { concurrency: 2 })).toMatchObject({ claimed: 200 });
    // 75 when the row of the next was read only after the last one known had ended.
    expect(late).toBeLessThan(15);
  });

  test('passes its slot on only for a moment, and then lets a higher priority go first', async () => {
    await fill(100, { limit: 1 });
    let waitedMs = Infinity;
    const keyed = defineTask({ name: 'keyed', run: () => q.clock.sleep(100) });
    const enqueuedAt = q.clock.monotonic() + 250;
    const urgent = defineTask({ name: 'urgent', run: () => void (waitedMs = q.clock.monotonic() - enqueuedAt) });
    void q.clock.sleep(250).then(() => q.client.enqueue('urgent', {}, { priority: 'high' }));

    await q.work({ keyed, urgent }, { concurrency: 1 });

    expect(waitedMs).toBeLessThan(2_000);
  });
});
