/** Items that kill their worker: the culprit is found, and the others live. */
import { describe, expect, test } from 'vitest';
import type { Stamp } from '../../../../shared/core/lease/stamp.ts';
import { HandedBackError } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { TaskRecord } from '../../../../shared/tasks/task/task.ts';
import { MEMORY_TTL_MS, QUEUE, openMemoryQueue } from '../../../support/memory-queue.ts';
import { Mortal } from '../../../support/mortal.ts';

const SIZE = 8;

/** Runs one worker after the other, each killed by its killer items, until no work is left. */
async function liveWith(killers: readonly number[], maxAttempts: number) {
  const q = openMemoryQueue();
  const runs = Array.from({ length: SIZE }, () => 0);
  let process = new Mortal();
  const work = defineTask({
    name: 'work',
    retry: { maxAttempts, backoff: 0 },
    async run(n: number) {
      await process.step(() => Promise.resolve());
      runs[n] = (runs[n] ?? 0) + 1;
      if (killers.includes(n)) await process.kill();
    },
  });
  await q.client.enqueueBulk(
    work,
    Array.from({ length: SIZE }, (_, n) => n),
    { id: 'b' },
  );
  let deaths = 0;
  for (let worker = 0; worker < 30; worker++) {
    process = new Mortal();
    await q.work({ work }, { process });
    if (!process.isDead) break;
    deaths++;
    await q.clock.advance(MEMORY_TTL_MS + 1_000);
  }
  const items = await Promise.all(runs.map((_, n) => q.client.getItem(`b/0/${n}`)));
  return { runs, items, deaths, pack: await q.tasks.get({ queue: QUEUE, id: 'b/0' }) };
}

describe('an item that kills its worker', () => {
  test.each([
    [1, 1],
    [2, 2],
    [3, 3],
    [5, 5],
  ])('with %i attempts dies of the last one, and takes no other with it', async (maxAttempts, deaths) => {
    const killer = 3;
    const { runs, items, pack, ...rest } = await liveWith([killer], maxAttempts);

    expect(items.map((item) => item?.state)).toEqual(runs.map((_, n) => (n === killer ? 'dead' : 'done')));
    expect(items[killer]?.task).toMatchObject({ attempts: maxAttempts, lastError: { name: 'WorkerDied' } });
    expect(rest.deaths).toBe(deaths);
    expect(runs[killer]).toBe(maxAttempts);
    // Those before it may have ended without being recorded when the first worker died; where one attempt is all, each is recorded.
    expect(runs.filter((_, n) => n !== killer).every((count) => count <= Math.min(2, maxAttempts))).toBe(true);
    expect(pack).toMatchObject({ state: 'done' });
  });

  test('is distinguished from items that do not', async () => {
    const { runs, items, pack } = await liveWith([0, 1, 6], 3);

    expect(items.map((item) => item?.state)).toEqual(['dead', 'dead', 'done', 'done', 'done', 'done', 'dead', 'done']);
    // Attempts are claims: an item may have been claimed with its pack by one whom another item killed before it began.
    expect(items.map((item) => item?.task?.attempts)).toEqual([
      3,
      3,
      undefined,
      undefined,
      undefined,
      undefined,
      3,
      undefined,
    ]);
    expect(Math.max(...runs)).toBe(3);
    expect(runs.filter((_, n) => items[n]?.state === 'done').every((count) => count <= 2)).toBe(true);
    expect(pack).toMatchObject({ state: 'done' });
  });

  test('is no longer suspected after its pack was cancelled and retried', async () => {
    const q = openMemoryQueue();
    const deadline = new AbortController();
    const key = { queue: QUEUE, id: 'b/0' };
    let process = new Mortal();
    let isHarmless = false;
    const work = defineTask({
      name: 'work',
      retry: { maxAttempts: 1 },
      async run(n: number, { signal }) {
        if (!isHarmless) await process.kill();
        if (n === 2) return;
        deadline.abort(new HandedBackError('the deadline is near'));
        signal.throwIfAborted();
      },
    });
    await q.client.enqueueBulk(work, [0, 1, 2], { id: 'b' });
    for (let deaths = 0; deaths < 2; deaths++) {
      process = new Mortal();
      await q.work({ work }, { process });
      await q.clock.advance(MEMORY_TTL_MS + 1_000);
    }
    const cancelled = await q.tasks.cancel(await packIn('running'), { at: q.clock.now(), reason: 'a look' }, stamp());
    expect(cancelled).toMatchObject({ kind: 'applied' });
    await q.operations.revive(await packIn('cancelled'), q.clock.now(), stamp());
    isHarmless = true;
    await q.work({ work }, { handBack: deadline.signal });

    expect(await q.tasks.get(key)).toMatchObject({ state: 'ready', attempts: 0, bulk: { moved: new Set([0]) } });
    await q.work({ work });
    expect(await q.tasks.get(key)).toMatchObject({ state: 'done' });

    function stamp(): Stamp {
      return { now: q.clock.now(), nonce: q.runtime.ids.unique() };
    }

    async function packIn<S extends TaskRecord['state']>(state: S): Promise<Extract<TaskRecord, { state: S }>> {
      const pack = await q.tasks.get(key);
      expect(pack?.state).toBe(state);
      return pack as Extract<TaskRecord, { state: S }>;
    }
  });
});
