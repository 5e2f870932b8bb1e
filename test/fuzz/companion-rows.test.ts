/** Rows around the tasks of a queue that were written past the library: each lies where the worker reads first. */
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import type { RowKey } from '../../shared/dynamo/engine/keys.ts';
import {
  lineKey,
  queueKey,
  readyPartitionKey,
  sessionKey,
  shardOf,
  taskConcurrencyKey,
  taskKey,
  groupPartitionKey,
} from '../../shared/dynamo/engine/keys.ts';
import { decodeTask } from '../../shared/tasks/rows/task/task-codec.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import { openWorld } from './world.ts';
import { SCHEMA_VERSION } from '../../shared/dynamo/engine/schema.ts';

const QUEUE = 'q';
const SHARDS = 2;
const ID = 'poison';
/** More than a page of the index, by far. */
const FLOOD = 1_500;
const fine = defineTask({ name: 'fine', run: () => 'well' });

const bare = (key: RowKey): DynamoItem => ({ ...key });
const entry = (id: string): DynamoItem => ({
  ...taskKey(QUEUE, id),
  readyKey: readyPartitionKey(QUEUE, 'normal', shardOf(id, SHARDS)),
  readyAt: 1,
});
const task = (attributes: DynamoItem): DynamoItem => ({
  ...entry(ID),
  v: SCHEMA_VERSION,
  queue: QUEUE,
  id: ID,
  name: fine.name,
  priority: 'normal',
  input: '{}',
  state: 'ready',
  createdAt: 1,
  attempts: 0,
  leaseCounter: 0,
  nonce: 'n',
  ...attributes,
});
const deflated = (text: string): Uint8Array => new Uint8Array(deflateRawSync(text));

const ROWS: readonly (readonly [what: string, make: () => readonly DynamoItem[]])[] = [
  ['a row of nothing but index keys', () => [entry(ID)]],
  [`${FLOOD} rows of nothing but index keys`, () => Array.from({ length: FLOOD }, (_, n) => entry(`${ID}${n}`))],
  ['a task whose input unpacks to 30 MB', () => [task({ input: deflated(' '.repeat(30_000_000)) })]],
  ['a task whose input cannot be unpacked', () => [task({ input: new Uint8Array([1, 2, 3]) })]],
  ['a task whose progress cannot be unpacked', () => [task({ progress: new Uint8Array(0) })]],
  ['a task whose input unpacks to broken JSON', () => [task({ input: deflated('{"card" 4111') })]],
  [
    'a task whose key has a row of nothing',
    () => [task({ key: 'odd', limit: 1 }), bare(taskConcurrencyKey(QUEUE, 'odd'))],
  ],
  ['a task whose line has a row of nothing', () => [task({ line: 'odd', ticket: 1 }), bare(lineKey(QUEUE, 'odd'))]],
  [
    'a task held by a session row of nothing',
    () => [task({ state: 'running', session: 's', claimedAt: 1, attempts: 1, leaseCounter: 1 }), bare(sessionKey('s'))],
  ],
  ['a task whose large input is missing', () => [task({ payload: 'missing' })]],
  ...[0, 1].flatMap((shard) => [
    [
      `a tenant's entry in shard ${shard} that says no tenant`,
      () => [{ ...taskKey(QUEUE, ID), directoryKey: groupPartitionKey(QUEUE, 'normal', shard), directoryName: '###' }],
    ] as const,
  ]),
];

describe('does every task at its first attempt, despite rows that were written past the library', () => {
  test.each(ROWS)('%s', async (_what, make) => {
    const world = openWorld();
    for (const row of make()) await world.raw.put(row);
    const options = [
      ...['a', 'b', 'c'].map((id) => ({ id })),
      { id: 'of a tenant', tenant: 'acme' },
      ...['first', 'second', 'third'].map((id) => ({ id: `${id} of a key`, key: 'k', limit: 1 })),
    ];
    for (const given of options) await world.leasehold.tasks.enqueue(fine, {}, { queue: QUEUE, ...given });

    await world.work(QUEUE, { fine });

    const ends = await Promise.all(options.map(({ id }) => world.leasehold.tasks.get(id, QUEUE)));
    expect(ends.map((end) => [end?.id, end?.state, end?.attempts])).toEqual(options.map(({ id }) => [id, 'done', 1]));
  });
});

test('a queue row of nothing closes its queue, which may be paused, and is reported', async () => {
  const world = openWorld();
  await world.raw.put(bare(queueKey(QUEUE)));
  await world.leasehold.tasks.enqueue(fine, {}, { queue: QUEUE, id: 'a' });

  expect(await world.work(QUEUE, { fine })).toMatchObject({ claimed: 0, damaged: 1, ended: 'paused' });
});

test('the message about an input of broken JSON repeats nothing of it', () => {
  const read = (): unknown => decodeTask(task({ input: deflated('[1, card 4111'), policy: '{}' }));

  expect(read).toThrow(/input.*JSON/);
  expect(read).not.toThrow(/card|4111/);
});
