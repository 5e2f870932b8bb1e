/** Tasks of one key with a rate: the key has one window, also if the spans of their rates differ. */
import { expect, test } from 'vitest';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { MEMORY_TTL_MS, openMemoryQueue } from '../../../support/memory-queue.ts';
import { Mortal } from '../../../support/mortal.ts';

const MINUTE_MS = 60_000;

test('never exceeds a rate, and eventually starts each task', async () => {
  const queue = openMemoryQueue();
  const begun: { readonly id: string; readonly at: number }[] = [];
  const work = defineTask({
    name: 'work',
    run: (_input, { id }) => {
      begun.push({ id, at: queue.clock.now() });
      return Promise.resolve();
    },
  });
  const options = { key: 'k', limit: 5 };
  for (let n = 0; n < 12; n++)
    await queue.client.enqueue(work, {}, { ...options, id: `short-${n}`, rate: { count: 1, per: '1s' } });
  for (const n of [1, 2])
    await queue.client.enqueue(work, {}, { ...options, id: `long-${n}`, rate: { count: 1, per: '10s' } });

  // A worker exits while all tasks wait for a window; the schedule starts the next.
  for (let tick = 0; tick < 200 && begun.length < 14; tick++) {
    await queue.work({ work });
    await queue.clock.runUntil(queue.clock.sleep(250), () => true);
  }

  expect(begun).toHaveLength(14);
  for (const [kind, perMs] of [
    ['short', 1_000],
    ['long', 10_000],
  ] as const) {
    const windows = begun.filter(({ id }) => id.startsWith(kind)).map(({ at }) => Math.floor(at / perMs));
    expect(new Set(windows).size).toBe(windows.length);
  }
});

test('takes over a task that crashes long after its worker has used up the rate', async () => {
  const crashesAfterMs = 2.5 * MINUTE_MS;
  const queue = openMemoryQueue();
  const begunAt: number[] = [];
  const options = { key: 'k', limit: 5, rate: { count: 1, per: '1d' } } as const;
  for (const id of ['a', 'b', 'c']) await queue.client.enqueue('work', {}, { ...options, id });
  await queue.client.enqueue('busy', {}, { id: 'busy' });
  const process = new Mortal();
  const crashing = defineTask({
    name: 'work',
    async run() {
      await queue.clock.sleep(crashesAfterMs);
      return process.kill();
    },
  });
  const work = defineTask({ name: 'work', run: () => void begunAt.push(queue.clock.monotonic()) });
  const busy = defineTask({ name: 'busy', run: () => queue.clock.sleep(crashesAfterMs + MINUTE_MS) });
  const beganAt = queue.clock.monotonic();

  const crashed = queue.work({ work: crashing }, { process, named: ['b'] });
  await queue.clock.runUntil(Promise.all([crashed, queue.work({ work, busy }, { concurrency: 2 })]), () => true);

  expect(begunAt).toHaveLength(1);
  expect((begunAt[0] ?? Infinity) - beganAt - crashesAfterMs).toBeLessThan(MEMORY_TTL_MS + 10_000);
});
