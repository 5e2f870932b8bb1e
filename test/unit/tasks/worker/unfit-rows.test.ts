/** Rows that are damaged while tasks that use them fill all places of a worker: each of its other tasks is done within seconds. */
import { expect, test } from 'vitest';
import { Leasehold } from '../../../../shared/client/leasehold.ts';
import { schedulesOf } from '../../../../shared/client/schedules-of.ts';
import type { Session } from '../../../../shared/client/session.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import type { DynamoDriver, DynamoItem } from '../../../../shared/dynamo/engine/driver.ts';
import type { RowKey } from '../../../../shared/dynamo/engine/keys.ts';
import {
  batchKey,
  lineKey,
  queueKey,
  scheduleKey,
  semaphoreKey,
  taskConcurrencyKey,
  waitGroupKey,
} from '../../../../shared/dynamo/engine/keys.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { workersSemaphore } from '../../../../shared/tasks/dispatch/dispatcher.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/task/task-request.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { QUEUE, openMemoryQueue } from '../../../support/memory-queue.ts';
import { silent } from '../../../../shared/testing/silent-log.ts';

const PLACES = 3;
const TABLE = 'leasehold';
const LATEST_MS = 5_000;
const never = new AbortController().signal;

interface Companion {
  readonly key: RowKey;
  readonly attributes: readonly string[];
  /** Options of its tasks. Absent: they are a batch. */
  readonly options?: EnqueueOptions;
  /** Uses the row in the code of its tasks. @returns the second use, after the damage */
  readonly use?: (hand: Hand) => Promise<() => Promise<unknown>>;
}

interface Hand {
  readonly leasehold: Leasehold;
  readonly session: Session;
}

const SEMAPHORE = ['declared', 'limit', 'free', 'floor', 'leaseCounter', 'revision', 'v'];
const COMPANIONS: Readonly<Record<string, Companion>> = {
  batch: { key: batchKey(QUEUE, 'b'), attributes: ['total', 'pending', 'left', 'done', 'dead', 'cancelled', 'v'] },
  key: {
    key: taskConcurrencyKey(QUEUE, 'k'),
    attributes: ['running', 'window', 'started', 'enteredAt', 'v'],
    options: { key: 'k', limit: PLACES },
  },
  semaphore: {
    key: semaphoreKey('s'),
    attributes: SEMAPHORE,
    options: {},
    async use({ session }) {
      const permit = await session.permit('s', { limit: PLACES });
      return async () => {
        await session.tryPermit('s', { limit: PLACES });
        await permit.release();
      };
    },
  },
  // Its first holder is its worker.
  "fleet's permits": {
    key: semaphoreKey(workersSemaphore(QUEUE)),
    attributes: SEMAPHORE,
    options: {},
    async use({ session }) {
      const permit = await session.permit(workersSemaphore(QUEUE), { limit: PLACES });
      return () => permit.release();
    },
  },
  'wait group': {
    key: waitGroupKey('w'),
    attributes: ['generation', 'v'],
    options: {},
    async use({ leasehold }) {
      const group = await leasehold.waitGroup('w');
      return async () => {
        await group.add(1);
        await group.seal();
        await group.wait();
      };
    },
  },
  queue: {
    key: queueKey(QUEUE),
    attributes: ['took', 'concurrency', 'startWithin', 'starts'],
    options: {},
    use: async ({ leasehold }) => {
      await leasehold.operator.resume();
      return () => Promise.resolve();
    },
  },
  schedule: {
    key: scheduleKey(QUEUE, 's'),
    attributes: ['readyAt', 'lastAt', 'definedAt', 'jitterMs', 'toleranceMs', 'v'],
    options: {},
    async use({ leasehold }) {
      const schedules = schedulesOf(leasehold);
      await schedules.define('s', 'good', null, { cron: '* * * * *' });
      return () => schedules.run('s');
    },
  },
  line: { key: lineKey(QUEUE, 'k'), attributes: ['tail', 'turn', 'v'], options: { key: 'k', ordered: true } },
};
const DAMAGES: readonly (readonly [string, unknown])[] = [
  ['absent', undefined],
  ['a text', 'x'],
  ['negative', -7],
  ['the greatest count', Number.MAX_SAFE_INTEGER],
];
const CASES: readonly { kind: string; attribute: string; name: string; value?: unknown }[] = [
  ...Object.entries(COMPANIONS).flatMap(([kind, { attributes }]) =>
    attributes.flatMap((attribute) => DAMAGES.map(([name, value]) => ({ kind, attribute, name, value }))),
  ),
  {
    kind: 'batch',
    attribute: 'waiter',
    name: 'a task of a name that no key can hold',
    value: JSON.stringify({ kind: 'task', task: { queue: QUEUE, id: 'x'.repeat(3_000) } }),
  },
];

test.each(CASES)('$attribute of a $kind is $name', async ({ kind, attribute, value }) => {
  const { key, options, use } = COMPANIONS[kind]!;
  let driver: DynamoDriver | undefined;
  const queue = openMemoryQueue((inner) => (driver = inner));
  await fill(queue, options);
  const { runtime } = queue;
  const sender = new Sender({ driver: driver!, runtime });
  const leasehold = new Leasehold({ sender, gauge: noSkewGauge, runtime }, { table: TABLE });
  const session = await leasehold.session();
  let isDamaged = false;
  const run = async (): Promise<void> => {
    const useAgain = await use?.({ leasehold, session });
    await queue.clock.sleep(300);
    await damage();
    await useAgain?.();
  };
  const damage = async (): Promise<void> => {
    if (isDamaged || driver === undefined) return;
    isDamaged = true;
    const { Item } = await driver.attempt('get', { TableName: TABLE, Key: { ...key }, ConsistentRead: true }, never);
    expect(Item).toBeDefined();
    const { [attribute]: _, ...rest } = Item as DynamoItem;
    const damaged = value === undefined ? rest : { ...rest, [attribute]: value };
    await driver.attempt('put', { TableName: TABLE, Item: damaged }, never);
  };
  const handBack = new AbortController();
  void queue.clock.sleep(LATEST_MS).then(() => handBack.abort());

  await queue.work(
    { bad: defineTask({ name: 'bad', run }), good },
    { concurrency: PLACES, handBack: handBack.signal, asksQueue: kind === 'queue' },
  );

  for (const id of GOOD) expect(await queue.client.get(id)).toMatchObject({ state: 'done' });
  expect(isDamaged).toBe(true);
  expect(queue.meter.read().requests).toBeLessThan(300);
});

test.each([{ pending: 0 }, { pending: 1 }, { pending: 1_000 }, { left: 2 }])(
  'a batch with %j of 3 is reported by the next end, which counts it again',
  async (wrong) => {
    let driver: DynamoDriver | undefined;
    const queue = openMemoryQueue((inner) => (driver = inner));
    await fill(queue, undefined);
    const Key = { ...batchKey(QUEUE, 'b') };
    const { Item } = (await driver?.attempt('get', { TableName: TABLE, Key, ConsistentRead: true }, never)) ?? {};
    await driver?.attempt('put', { TableName: TABLE, Item: { ...Item, ...wrong } }, never);
    const errors: unknown[] = [];
    const log = { ...silent, error: (...line: unknown[]) => void errors.push(line) };

    await queue.work({ bad: defineTask({ name: 'bad', run: () => null }), good }, { log });

    expect(errors).toContainEqual([
      'batch miscounted',
      {
        error: expect.stringMatching(
          /^batch b of queue default counts \d+ pending of 3 children.*written its row$/,
        ) as string,
      },
    ]);
    expect(errors).toHaveLength(1);
    for (const id of ['0', '1', '2', 'then'])
      expect(await queue.client.get(`b/${id}`)).toMatchObject({ state: 'done' });
    expect(await queue.client.getBatch('b')).toMatchObject({ total: 3, pending: 0, done: 3 });
  },
);

const good = defineTask({ name: 'good', run: () => 'ok' });
const GOOD = ['good-1', 'good-2', 'good-3'];

/** The tasks of the companion come first, and there are as many as places. */
async function fill({ client, clock }: MemoryQueue, options: EnqueueOptions | undefined): Promise<void> {
  if (options === undefined)
    await client.enqueueBatch(
      Array.from({ length: PLACES }, () => spawn('bad', null)),
      { id: 'b', then: spawn('good', null) },
    );
  else for (let n = 0; n < PLACES; n++) await client.enqueue('bad', null, options);
  await clock.runUntil(clock.sleep(10), () => true);
  for (const id of GOOD) await client.enqueue('good', null, { id });
}
