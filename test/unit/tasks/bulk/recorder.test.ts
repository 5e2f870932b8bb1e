/** Group commit: the time and content of its writes, and a claim that runs a second time in one process. */
import { describe, expect, test } from 'vitest';
import type { PackOf } from '../../../../shared/tasks/task/pack.ts';
import { isPack } from '../../../../shared/tasks/task/pack.ts';
import { PackRecorder } from '../../../../shared/tasks/bulk/recorder.ts';
import type { PackStore } from '../../../../shared/tasks/bulk/pack-store.ts';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { stampOf } from '../../../../shared/core/lease/stamp.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { RunningTask } from '../../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../../shared/tasks/task/task.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { QUEUE, openMemoryQueue } from '../../../support/memory-queue.ts';

const noop = defineTask({ name: 'noop', run: () => undefined });

async function claimedPack(q: MemoryQueue, items: number): Promise<PackOf<RunningTask>> {
  await q.client.enqueueBulk(
    noop,
    Array.from({ length: items }, (_, n) => n),
    { id: 'b' },
  );
  const pack = await q.tasks.get({ queue: QUEUE, id: 'b/0' });
  if (pack?.state !== 'ready') throw new Error('not ready');
  const outcome = await q.tasks.claim(pack, 'me', stampOf(q.runtime));
  if (outcome.kind !== 'applied' || !isPack(outcome.row)) throw new Error('refused');
  return outcome.row;
}

function recorderOf(q: MemoryQueue, pack: PackOf<RunningTask>, flushIntervalMs: number, packs = q.tasks.bulk) {
  const losses: unknown[] = [];
  const ports = {
    packs,
    runtime: q.runtime,
    limits: () => ({}),
    onLost: (error: unknown) => losses.push(error),
  };
  return { losses, recorder: new PackRecorder(pack, { flushIntervalMs, keepsResults: true }, ports) };
}

const inRow = async (q: MemoryQueue) => {
  const bulk = (await q.tasks.get({ queue: QUEUE, id: 'b/0' }))?.bulk;
  return { done: [...(bulk?.done ?? [])].sort(), results: bulk?.results };
};

describe('the ends of items', () => {
  test("are written together after the first one's flush interval, while the next item runs", async () => {
    const q = openMemoryQueue();
    const { recorder } = recorderOf(q, await claimedPack(q, 4), 500);

    await recorder.complete(0, 'a', undefined);
    await q.clock.advance(400);
    await recorder.complete(1, 'b', undefined);
    expect((await inRow(q)).done).toEqual([]);
    await q.clock.advance(100);

    expect(await inRow(q)).toEqual({ done: [0, 1], results: { 0: 'a', 1: 'b' } });
    expect(q.taskUnits()['pack.record']).toBe(1);
    expect(recorder.settled).toEqual({ done: 2 });
  });

  test('are written in time again after each record', async () => {
    const q = openMemoryQueue();
    const { recorder } = recorderOf(q, await claimedPack(q, 4), 500);

    for (const index of [0, 1, 2]) {
      await recorder.complete(index, null, undefined);
      await q.clock.advance(500);

      expect((await inRow(q)).done).toHaveLength(index + 1);
    }
  });

  test('keeps unwritten ends after an unforeseen store error, and reports it only when asked', async () => {
    const q = openMemoryQueue();
    const pack = await claimedPack(q, 3);
    const packs: PackStore = Object.create(q.tasks.bulk) as PackStore;
    packs.record = () => Promise.reject(new TypeError('unforeseen'));
    const { recorder } = recorderOf(q, pack, 500, packs);

    await recorder.complete(0, 'a', undefined);
    await q.clock.advance(500); // an unhandled rejection would fail the run

    await expect(recorder.flush({})).rejects.toThrow('unforeseen');
    packs.record = q.tasks.bulk.record.bind(q.tasks.bulk);
    await recorder.flush({});
    expect((await inRow(q)).done).toEqual([0]);
  });

  test('wait for their full interval even if another write has just recorded others', async () => {
    const q = openMemoryQueue();
    const { recorder } = recorderOf(q, await claimedPack(q, 4), 500);

    await recorder.complete(0, 'a', undefined);
    await q.clock.advance(300);
    await recorder.commit(1, 'b', [], undefined);
    await recorder.complete(2, 'c', undefined);
    await q.clock.advance(300);
    expect((await inRow(q)).done).toEqual([0, 1]);
    await q.clock.advance(200);

    expect((await inRow(q)).done).toEqual([0, 1, 2]);
  });

  type Before = (q: MemoryQueue, recorder: PackRecorder) => Promise<unknown>;
  /** Each ends before the first timer fires at 500 ms, and says what that timer finds. */
  const BEFORE_THE_TIMER: readonly (readonly [what: string, before: Before, isDoneThen: readonly number[]])[] = [
    ['something', () => Promise.resolve(), [0]],
    ['nothing, after a commit', (_, recorder) => recorder.commit(1, 'b', [], undefined), [0, 1]],
    ['nothing, after a flush', (_, recorder) => recorder.flush(undefined), [0]],
    [
      'an end that is younger than a commit',
      async (_, recorder) => {
        await recorder.commit(1, 'b', [], undefined);
        await recorder.complete(2, 'c', undefined);
      },
      [0, 1],
    ],
  ];

  test.each(BEFORE_THE_TIMER)('are written in time again after the timer found %s', async (_what, before, isDone) => {
    const q = openMemoryQueue();
    const { recorder } = recorderOf(q, await claimedPack(q, 6), 500);
    await recorder.complete(0, 'a', undefined);
    await q.clock.advance(100);
    await before(q, recorder);
    await q.clock.advance(400);
    expect((await inRow(q)).done).toEqual(isDone);

    // The next item is long: only the timer can write the end of the one before.
    for (const index of [3, 4]) {
      await q.clock.advance(1_000);
      await recorder.complete(index, 'd', undefined);
      await q.clock.advance(499);
      expect((await inRow(q)).done).not.toContain(index);
      await q.clock.advance(1);
      expect((await inRow(q)).done).toContain(index);
    }
  });

  test('go with a commit, and with its bar when that is refused', async () => {
    const q = openMemoryQueue();
    const { recorder } = recorderOf(q, await claimedPack(q, 4), 60_000);
    const impossible = {
      Put: { TableName: q.table, Item: { pk: 'x', sk: 'x' }, ConditionExpression: 'attribute_exists(pk)' },
    };

    await recorder.complete(0, 'a', undefined);
    expect(await recorder.commit(1, 'b', [impossible], undefined)).toMatchObject({ kind: 'canceled' });
    expect(await inRow(q)).toEqual({ done: [0], results: { 0: 'a' } });
    expect(await recorder.commit(1, 'b', [], undefined)).toMatchObject({ kind: 'applied' });

    expect(await inRow(q)).toEqual({ done: [0, 1], results: { 0: 'a', 1: 'b' } });
  });

  test('are not written once the pack is closed', async () => {
    const q = openMemoryQueue();
    const { recorder, losses } = recorderOf(q, await claimedPack(q, 4), 500);
    await recorder.complete(0, 'a', undefined);

    recorder.close();
    await q.clock.advance(60_000);

    expect(await recorder.complete(1, 'b', undefined)).toMatchObject({ kind: 'refused' });
    expect(await recorder.flush(undefined)).toMatchObject({ kind: 'refused' });
    expect((await inRow(q)).done).toEqual([]);
    expect(losses).toEqual([]);
  });
});

describe('a pack that has moved on', () => {
  test('is lost if another holder has it', async () => {
    const q = openMemoryQueue();
    const pack = await claimedPack(q, 4);
    const { recorder, losses } = recorderOf(q, pack, 0);
    await q.tasks.takeOver(pack, 'heir', stampOf(q.runtime));

    expect(await recorder.complete(0, 'a', undefined)).toMatchObject({ kind: 'refused' });
    expect(await recorder.commit(1, 'b', [], undefined)).toMatchObject({ kind: 'refused' });

    expect(losses).toMatchObject([{ name: 'LeaseLostError', reason: 'superseded' }]);
    expect(recorder.settled).toEqual({});
  });

  test('keeps the result of a commit with unknown outcome', async () => {
    const q = openMemoryQueue();
    const pack = await claimedPack(q, 4);
    const packs: PackStore = Object.create(q.tasks.bulk) as PackStore;
    packs.commit = async (...call) => {
      await q.tasks.bulk.commit(...call);
      throw new StoreUnavailableError('no answer', { applied: 'unknown' });
    };
    const { recorder, losses } = recorderOf(q, pack, 60_000, packs);

    await expect(recorder.commit(1, 'committed', [], undefined)).rejects.toThrow('no answer');
    await recorder.complete(0, 'a', undefined);
    await recorder.flush(undefined);

    expect(await inRow(q)).toEqual({ done: [0, 1], results: { 0: 'a', 1: 'committed' } });
    expect(recorder.isOpen(1)).toBe(false);
    expect(losses).toEqual([]);
  });

  test('counts its items once after an unanswered record', async () => {
    const q = openMemoryQueue();
    const pack = await claimedPack(q, 4);
    const packs: PackStore = Object.create(q.tasks.bulk) as PackStore;
    packs.record = async (...call) => {
      packs.record = q.tasks.bulk.record.bind(q.tasks.bulk);
      await q.tasks.bulk.record(...call);
      throw new StoreUnavailableError('no answer', { applied: 'unknown' });
    };
    const { recorder, losses } = recorderOf(q, pack, 60_000, packs);

    await recorder.complete(0, 'a', undefined);
    await expect(recorder.flush({})).rejects.toThrow('no answer');
    await recorder.complete(1, 'b', undefined);
    await recorder.flush(undefined);

    expect(await inRow(q)).toEqual({ done: [0, 1], results: { 0: 'a', 1: 'b' } });
    expect(recorder.settled).toEqual({ done: 2 });
    expect(losses).toEqual([]);
  });

  test('accepts its own abandoned request as applied, and continues', async () => {
    const q = openMemoryQueue();
    const pack = await claimedPack(q, 4);
    const { recorder, losses } = recorderOf(q, pack, 0);
    const late = { ...stampOf(q.runtime), sequence: 3, previousSequence: 0 };
    await q.tasks.bulk.record(claimOf(pack), { done: [2], results: { 2: 'late' } }, late);

    expect(await recorder.complete(0, 'a', undefined)).toMatchObject({ kind: 'applied' });
    expect(await recorder.commit(2, 'again', [], undefined)).toMatchObject({ kind: 'refused' });

    expect(recorder.isOpen(2)).toBe(false);
    expect(await inRow(q)).toEqual({ done: [0, 2], results: { 0: 'a', 2: 'late' } });
    expect(losses).toEqual([]);
  });
});
