/**
 * Index entries of foreign rows: a policy sees the key of the row that is written, and not the index keys that are written into it.
 * So a principal of one queue can put entries into the partitions of another. There each program of that queue works under its own
 * policies, which refuse a whole `BatchGetItem` for one key that they do not know.
 */
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ENV } from '../../functions/env.ts';
import { createWorkHandler } from '../../functions/work.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { RowKey } from '../../shared/dynamo/engine/keys.ts';
import {
  batchKey,
  deadPartitionKey,
  endedPartitionKey,
  lineKey,
  lockKey,
  payloadKey,
  queueKey,
  rateLimitKey,
  readyPartitionKey,
  scheduleKey,
  semaphoreKey,
  sessionKey,
  taskConcurrencyKey,
  taskKey,
  groupPartitionKey,
  waitGroupKey,
} from '../../shared/dynamo/engine/keys.ts';
import { groupPlace } from '../../shared/tasks/rows/task/index-places.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import { Gates, lambdaContext, newRole, stubHandler, upstream } from './gates.ts';
import { ENTRY, synthesize } from './synthesize.ts';
import { clientConfig, openTools } from './tools.ts';
import { newTables } from '../support/new-tables.ts';

const table = `foreign-${systemRuntime.ids.unique()}`;
const QUEUE = 'mail';
const KEY = 'customer-7';
const place = { table, queue: QUEUE, shards: 1 };

const { stack, workers: media } = synthesize({ shards: 1 });
const mail = new TaskWorkers(stack, 'Mail', {
  entry: ENTRY,
  queue: QUEUE,
  table: media.table,
  shards: 1,
  listFinished: true,
});
const roles = {
  mailWorker: mail.worker.role,
  mailDispatcher: mail.dispatcher.handler.role,
  mailWaker: mail.waker!.handler.role,
  mailOperator: newRole(stack, 'mail-operate', (role) => mail.grantOperate(role)),
};
const gates = new Gates(stack, media, table);

/** Every kind of row; which of them a role may write into which index, `limits-of-grants.test.ts` says. */
const ROWS = {
  task: (id: string) => taskKey('media', id),
  batch: (id: string) => batchKey('media', id),
  key: (id: string) => taskConcurrencyKey('media', id),
  line: (id: string) => lineKey('media', id),
  payload: (id: string) => payloadKey('media', id, 'x'),
  schedule: (id: string) => scheduleKey('media', id),
  queue: () => queueKey('media'),
  permits: () => semaphoreKey('workers/media'),
  session: sessionKey,
  lock: lockKey,
  semaphore: semaphoreKey,
  'wait group': waitGroupKey,
  'rate limit': (id: string) => rateLimitKey('api', id),
} satisfies Readonly<Record<string, (id: string) => RowKey>>;
/** Every partition of the two indexes that a program of the queue reads; and more entries than fit on a page of it. */
const PARTITIONS = {
  ready: { attributes: ready(readyPartitionKey(QUEUE, 'normal', 0)), flood: 60 },
  schedules: { attributes: ready(`schedule#${QUEUE}`), flood: 5 },
  tenants: {
    attributes: listed(groupPartitionKey(QUEUE, 'normal', 0), (id) => groupPlace({ tenant: `a-${id}` }, 1, id)),
    flood: 60,
  },
  keys: {
    attributes: listed(groupPartitionKey(QUEUE, 'normal', 0), (id) =>
      groupPlace({ limit: { key: `a-${id}`, limit: 1, rate: undefined } }, 1, id),
    ),
    flood: 60,
  },
  'list of schedules': { attributes: listed(`schedule#${QUEUE}`, (id) => id), flood: 5 },
  'list of the dead': { attributes: listed(deadPartitionKey(QUEUE, 0), (id) => id), flood: 5 },
  'list of the finished': {
    attributes: listed(endedPartitionKey(QUEUE, 0), (id) => `2026-08-01T00:00:00.000Z#done#any#1#1#1##${id}`),
    flood: 60,
  },
} as const;
type Attributes = (id: string) => Readonly<Record<string, { readonly S: string } | { readonly N: string }>>;

describe.skipIf(upstream === null)('entries of foreign rows in the indexes of a queue', () => {
  const root = openTools(upstream ?? '', place);
  beforeAll(async () => {
    await newTables(upstream ?? '', table);
    await writeEntries();
  });
  afterAll(async () => {
    root.close();
    await gates.close();
    vi.unstubAllEnvs();
  });

  test('keep no worker, dispatcher or waker from the tasks of the queue, and are reported', async () => {
    await root.schedules.define('often', 'any', {}, { cron: '* * * * * *', missed: 'last' });
    await root.leasehold.tasks.enqueue('any', {}, { id: 'plain' });
    await root.leasehold.tasks.enqueue('any', {}, { id: 'of a tenant', tenant: 'zoo' });
    for (const id of IDS.slice(2)) await root.leasehold.tasks.enqueue('any', {}, { id, key: KEY, limit: 1 });
    await systemRuntime.clock.sleep(1_100);

    const waker = await gates.for(roles.mailWaker);
    const queues = JSON.stringify([
      { queue: QUEUE, workerFunction: gates.logicalIdOf(mail.worker.function), shards: 1 },
    ]);
    stubHandler(waker, place, { [ENV.wakeQueues]: queues, AWS_ENDPOINT_URL_LAMBDA: waker.endpoint });
    const { handler: wake } = await import('../../functions/wake.ts');
    const dynamodb = { Keys: { pk: { S: taskKey(QUEUE, 'plain').pk } } };
    const woken = await wake({ Records: [{ eventName: 'INSERT', dynamodb }] }, lambdaContext());

    const dispatcher = await gates.for(roles.mailDispatcher);
    const workerFunction = gates.logicalIdOf(mail.worker.function);
    stubHandler(dispatcher, place, {
      [ENV.workerFunction]: workerFunction,
      [ENV.listFinished]: '1',
      AWS_ENDPOINT_URL_LAMBDA: dispatcher.endpoint,
    });
    const { handler: dispatch } = await import('../../functions/dispatch.ts');
    const tick = await dispatch({ schedule: QUEUE, scheduledTime: '2026-08-01T00:00:00Z' }, lambdaContext());

    const worker = await gates.for(roles.mailWorker);
    stubHandler(worker, place);
    await createWorkHandler(TASKS)({ queue: QUEUE, homeShards: [0] }, lambdaContext());

    const refusals = [waker, dispatcher, worker].map((gate) => gate.refusals());
    expect(refusals).toEqual([[], [], []]);
    expect(tick).toMatchObject({ duplicate: false, recurred: 1, failedStarts: 0 });
    expect(tick.damaged).toBeGreaterThan(0);
    // The backlog counts tasks of the queue, and not what others have put there.
    expect(tick.backlog).toBeLessThanOrEqual(IDS.length + 1);
    expect(woken[QUEUE]?.failedStarts ?? 0).toBe(0);
    const states = await Promise.all(IDS.map(async (id) => (await root.leasehold.tasks.get(id))?.state));
    expect(states).toEqual(IDS.map(() => 'done'));
  });

  test('are in no list of an operator, who sees what is of the queue', async () => {
    const gate = await gates.for(roles.mailOperator);
    const hands = openTools(gate.endpoint, place);

    const dead = await Array.fromAsync(hands.operator.dead());
    const ended = await Array.fromAsync(hands.operator.ended({ shards: 1 }));
    const open = await Array.fromAsync(hands.operator.open({ shards: 1 }));
    const schedules = await Array.fromAsync(hands.schedules.list());

    expect(gate.refusals()).toEqual([]);
    expect(dead).toEqual([]);
    expect(ended.map(({ id }) => id.replace(/@.*/, '')).sort()).toEqual([...IDS, 'often'].sort());
    expect(open.every(({ queue }) => queue === QUEUE)).toBe(true);
    expect(schedules.map(({ name }) => name)).toEqual(['often']);
    hands.close();
  });

  /** One of each kind of row into each partition; and a page full of tasks. */
  async function writeEntries(): Promise<void> {
    const client = new DynamoDBClient({ endpoint: upstream ?? '', ...clientConfig });
    const write = ({ pk, sk }: RowKey, attributes: ReturnType<Attributes>) =>
      client.send(new PutItemCommand({ TableName: table, Item: { pk: { S: pk }, sk: { S: sk }, ...attributes } }));
    for (const [partition, { attributes, flood }] of Object.entries(PARTITIONS)) {
      for (const [kind, keyOf] of Object.entries(ROWS)) {
        const id = `${kind}-${partition}`;
        await write(keyOf(id), attributes(id));
      }
      const ids = Array.from({ length: flood }, (_, nth) => `${partition}-${nth}`);
      await Promise.all(ids.map((id) => write(ROWS.task(id), attributes(id))));
    }
    client.destroy();
  }
});

function ready(partition: string): Attributes {
  return () => ({ readyKey: { S: partition }, readyAt: { N: '1' } });
}

function listed(partition: string, place: (id: string) => string): Attributes {
  return (id) => ({ directoryKey: { S: partition }, directoryName: { S: place(id) } });
}

const IDS = ['plain', 'of a tenant', 'of a key 1', 'of a key 2', 'of a key 3'];
const TASKS = { any: defineTask({ name: 'any', run: () => 'ok' }) };
