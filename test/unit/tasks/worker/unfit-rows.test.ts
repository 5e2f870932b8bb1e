/** Companion rows that are damaged while their tasks fill all places of a worker: each of its other tasks is done within seconds. */
import { expect, test } from 'vitest';
import type { DynamoDriver, DynamoItem } from '../../../../shared/dynamo/engine/driver.ts';
import type { RowKey } from '../../../../shared/dynamo/engine/keys.ts';
import { batchKey, lineKey, taskConcurrencyKey } from '../../../../shared/dynamo/engine/keys.ts';
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
}

const COMPANIONS: Readonly<Record<string, Companion>> = {
  batch: { key: batchKey(QUEUE, 'b'), attributes: ['total', 'pending', 'done', 'dead', 'cancelled', 'countedAt', 'v'] },
  key: {
    key: taskConcurrencyKey(QUEUE, 'k'),
    attributes: ['running', 'window', 'started', 'enteredAt', 'v'],
    options: { key: 'k', limit: PLACES },
  },
  line: { key: lineKey(QUEUE, 'k'), attributes: ['tail', 'turn', 'v'], options: { key: 'k', ordered: true } },
};
const DAMAGES: readonly (readonly [string, unknown])[] = [
  ['absent', undefined],
  ['a text', 'x'],
  ['negative', -7],
];
const CASES = Object.entries(COMPANIONS).flatMap(([kind, { attributes }]) =>
  attributes.flatMap((attribute) => DAMAGES.map(([name, value]) => ({ kind, attribute, name, value }))),
);

test.each(CASES)('$attribute of a $kind is $name', async ({ kind, attribute, value }) => {
  const { key, options } = COMPANIONS[kind]!;
  let driver: DynamoDriver | undefined;
  const queue = openMemoryQueue((inner) => (driver = inner));
  await fill(queue, options);
  let isDamaged = false;
  const damage = async (): Promise<void> => {
    await queue.clock.sleep(300);
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
    { bad: defineTask({ name: 'bad', run: damage }), good },
    { concurrency: PLACES, handBack: handBack.signal },
  );

  for (const id of GOOD) expect(await queue.client.get(id)).toMatchObject({ state: 'done' });
  expect(isDamaged).toBe(true);
  expect(queue.meter.read().requests).toBeLessThan(300);
});

test.each([
  ['none are pending', { pending: 0 }],
  ['one is pending', { pending: 1 }],
])('a batch that says too early that %s is reported by an end that meets it', async (_what, wrong) => {
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
        /^batch b of queue default counts \d pending of 3 children.*written its row$/,
      ) as string,
    },
  ]);
  for (let n = 0; n < PLACES; n++) expect(await queue.client.get(`b/${n}`)).toMatchObject({ state: 'done' });
});

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
