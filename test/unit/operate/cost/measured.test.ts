/** Compares the estimated units with the units that the simulated store charges for the same tasks. */
import { hash } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { stampOf } from '../../../../shared/core/lease/write.ts';
import type { DynamoItem } from '../../../../shared/dynamo/engine/driver.ts';
import { itemSizeBytes } from '../../../../shared/dynamo/engine/capacity.ts';
import { taskKey } from '../../../../shared/dynamo/engine/keys.ts';
import { verbTable } from '../../../../shared/operate/cost/units.ts';
import type { Workload } from '../../../../shared/operate/cost/workload.ts';
import { estimateCost } from '../../../../shared/operate/cost/estimate.ts';
import { DEFAULT_WORKLOAD } from '../../../../shared/operate/cost/workload.ts';
import { CommitRefusedError } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { UserWrite } from '../../../../shared/tasks/task/task-store.ts';
import type { Json } from '../../../../shared/tasks/task/task.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { QUEUE, openMemoryQueue } from '../../../support/memory-queue.ts';

const TASKS = 48;
const estimated = (changes: Partial<Workload>): number =>
  estimateCost({ ...DEFAULT_WORKLOAD, resultBytes: 0, ...changes }).writeUnitsPerTask;
const measured = (q: MemoryQueue): number =>
  Object.values(q.taskUnits()).reduce((sum, units) => sum + units, 0) / TASKS;

/** 60 bytes or more as JSON, half of them incompressible. */
const inputs = (bytes = 60): readonly { readonly key: string }[] =>
  Array.from({ length: TASKS }, (_, n) => {
    const random = hash('sha256', String(n)).slice(0, 30);
    return { key: random.padEnd(bytes - '{"key":""}'.length, 'x') };
  });
const shareOf = (value: Json): number => {
  const text = JSON.stringify(value);
  return deflateRawSync(text).byteLength / Buffer.byteLength(text);
};
const writes = (q: MemoryQueue, id: string, count: number, condition = {}): UserWrite[] =>
  Array.from({ length: count }, (_, n) => ({
    Put: { TableName: q.table, Item: { pk: `user#${id}`, sk: String(n) }, ...condition },
  }));
/** No item is there yet. */
const REFUSED = { ConditionExpression: 'attribute_exists(pk)' } as const;
/** A task with the given duration, failures, refused commits and number of committed writes. */
const working = (
  q: MemoryQueue,
  {
    seconds = 0,
    fails = () => false,
    commits = 0,
    refusals = () => 0,
  }: { seconds?: number; fails?: (n: number) => boolean; commits?: number; refusals?: (n: number) => number },
) => {
  let run = 0;
  return defineTask({
    name: 'work',
    retry: { backoff: 10 },
    async run(_: unknown, task) {
      if (seconds > 0) await q.clock.sleep(seconds * 1000, task.signal);
      const nth = run++;
      if (fails(nth)) throw new Error('not now');
      for (let n = refusals(nth); n > 0; n--)
        await expect(task.commit(undefined, writes(q, task.id, commits, REFUSED))).rejects.toThrow(CommitRefusedError);
      if (commits > 0) await task.commit(undefined, writes(q, task.id, commits));
    },
  });
};

describe('tasks with companion rows', () => {
  test.each<[string, number, Parameters<typeof working>[1], Partial<Workload>]>([
    ['small ones', 60, {}, {}],
    ['ones of 3 KB', 3_000, {}, {}],
    ['ones whose inputs are beside their rows', 40_000, {}, {}],
    ['ones that commit two rows', 60, { commits: 2 }, { commitItems: 2 }],
    [
      'ones of which a third is refused a commit of two rows',
      60,
      { commits: 2, refusals: (n) => Number(n % 3 === 0) },
      { commitItems: 2, refusedCommitsPerTask: 1 / 3 },
    ],
    ['ones that are listed once they have ended', 60, {}, { listFinished: true }],
    ['ones of which half are tried twice', 60, { seconds: 0.02, fails: (n) => n % 3 === 0 }, { attemptsPerTask: 1.5 }],
  ])('%s', async (_what, inputBytes, behaviour, workload) => {
    const q = openMemoryQueue();
    const { listFinished: asksQueue = false } = workload;
    if (asksQueue) await q.queues.listFinished(QUEUE, undefined, true, stampOf(q.runtime));
    const work = working(q, behaviour);
    const all = inputs(inputBytes);
    for (const input of all) await q.client.enqueue(work, input);

    const report = await q.work({ work }, { asksQueue });

    expect(report?.settled.done).toBe(TASKS);
    const refusedPerTask = (report?.claimsRefused ?? 0) / TASKS;
    const deflatedShare = shareOf(all[0] ?? null);
    expect(measured(q)).toBeCloseTo(estimated({ inputBytes, deflatedShare, refusedPerTask, ...workload }), 5);
  });

  test('the list of finished tasks takes the bytes of the estimate in a row and its entry', async () => {
    const bytes = [false, true].map(async (listFinished) => {
      const q = openMemoryQueue();
      if (listFinished) await q.queues.listFinished(QUEUE, undefined, true, stampOf(q.runtime));
      const id = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
      await q.client.enqueue(working(q, {}), inputs()[0], { id });
      await q.work({ work: working(q, {}) }, { asksQueue: listFinished });
      const row = (await q.read(taskKey(QUEUE, id)))!;
      const { pk, sk, directoryKey, directoryName } = row as DynamoItem;
      const entry = listFinished ? itemSizeBytes({ pk, sk, directoryKey, directoryName }) + 100 : 0;
      return itemSizeBytes(row) + entry;
    });
    const [plain = 0, listed = 0] = await Promise.all(bytes);
    const [of = 0, ofListed = 0] = [false, true].map(
      (listFinished) => verbTable({ ...DEFAULT_WORKLOAD, listFinished }).storedBytes,
    );

    expect(listed - plain).toBe(ofListed - of);
  });
});
