/**
 * Index entries of foreign rows: a policy sees the key of the row that is written, and not the index keys that are written into it.
 * So a principal of one queue can put entries into the partitions of another. There each program of that queue works under its own
 * policies, which refuse a whole `BatchGetItem` for one key that they do not know.
 */
import { DynamoDBClient, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
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
  grantEnqueue: newRole(stack, 'enqueue', (role) => media.grantEnqueue(role)),
  grantReplace: newRole(stack, 'replace', (role) => media.grantReplace(role)),
  grantSchedule: newRole(stack, 'schedule', (role) => media.grantSchedule(role)),
  grantCoordinate: newRole(stack, 'coordinate', (role) => media.grantCoordinate(role)),
  grantOperate: newRole(stack, 'operate', (role) => media.grantOperate(role)),
  worker: media.worker.role,
  dispatcher: media.dispatcher.handler.role,
  waker: media.waker!.handler.role,
  mailWorker: mail.worker.role,
  mailDispatcher: mail.dispatcher.handler.role,
  mailWaker: mail.waker!.handler.role,
  mailOperator: newRole(stack, 'mail-operate', (role) => mail.grantOperate(role)),
};
const gates = new Gates(stack, media, table);

/** Every kind of row that a principal of the other queue, or of none, may write. */
const ROWS: Readonly<Record<string, (id: string) => RowKey>> = {
  task: (id) => taskKey('media', id),
  batch: (id) => batchKey('media', id),
  key: (id) => taskConcurrencyKey('media', id),
  line: (id) => lineKey('media', id),
  payload: (id) => payloadKey('media', id, 'x'),
  schedule: (id) => scheduleKey('media', id),
  queue: () => queueKey('media'),
  permits: () => semaphoreKey('workers/media'),
  session: sessionKey,
  lock: lockKey,
  semaphore: semaphoreKey,
  'wait group': waitGroupKey,
  'rate limit': (id) => rateLimitKey('api', id),
};
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
const PRINCIPALS = [
  'grantEnqueue',
  'grantReplace',
  'grantSchedule',
  'grantCoordinate',
  'grantOperate',
  'worker',
  'dispatcher',
  'waker',
] as const;

type Attributes = (id: string) => Readonly<Record<string, { readonly S: string } | { readonly N: string }>>;

describe.skipIf(upstream === null)('entries of foreign rows in the indexes of a queue', () => {
  const put: string[] = [];
  const root = openTools(upstream ?? '', place);
  beforeAll(async () => {
    await newTables(upstream ?? '', table);
    for (const principal of PRINCIPALS) await writeEntries(principal);
  });
  afterAll(async () => {
    root.close();
    await gates.close();
    vi.unstubAllEnvs();
  });

  test('can be written by principals of another queue into every partition; principals that only coordinate cannot write into the ready index', () => {
    const partitions = new Set(put.map((line) => line.replace(/^.* into /, '')));
    expect([...partitions].sort()).toEqual(Object.keys(PARTITIONS).sort());
    expect(put.filter((line) => /^grantCoordinate: .* into (ready|schedules)$/.test(line))).toEqual([]);
    expect(put).toContain('grantCoordinate: lock into keys');
    expect(put).toContain('grantEnqueue: task into ready');
    expect(put).toContain('grantSchedule: schedule into schedules');
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

  /** One of each kind of row that the principal may write, into each partition; and a page full of one kind. */
  async function writeEntries(principal: (typeof PRINCIPALS)[number]): Promise<void> {
    const gate = await gates.for(roles[principal]);
    const client = new DynamoDBClient({ endpoint: gate.endpoint, ...clientConfig, maxAttempts: 1 });
    for (const [partition, { attributes, flood }] of Object.entries(PARTITIONS)) {
      for (const [kind, keyOf] of Object.entries(ROWS)) {
        const first = `${principal}-${partition}-0`;
        if (!(await write(client, keyOf(first), attributes(first)))) continue;
        put.push(`${principal}: ${kind} into ${partition}`);
        if (kind !== 'task' || principal !== 'grantReplace') continue;
        await Promise.all(
          Array.from({ length: flood }, (_, nth) => `${partition}-${nth}`).map((id) =>
            write(client, keyOf(id), attributes(id)),
          ),
        );
      }
    }
    client.destroy();
  }
});

/** Writes by an update, or if that is refused by a put. False: the principal may do neither. */
async function write(client: DynamoDBClient, key: RowKey, attributes: ReturnType<Attributes>): Promise<boolean> {
  const Key = { pk: { S: key.pk }, sk: { S: key.sk } };
  const names = Object.keys(attributes);
  const update = new UpdateItemCommand({
    TableName: table,
    Key,
    UpdateExpression: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}`,
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: Object.fromEntries(names.map((name) => [`:${name}`, attributes[name]!])),
  });
  const isAllowed = (sending: Promise<unknown>) =>
    sending.then(
      () => true,
      (error: unknown) => {
        if ((error as Error).name !== 'AccessDeniedException') throw error;
        return false;
      },
    );
  return (
    (await isAllowed(client.send(update))) ||
    (await isAllowed(client.send(new PutItemCommand({ TableName: table, Item: { ...Key, ...attributes } }))))
  );
}

function ready(partition: string): Attributes {
  return () => ({ readyKey: { S: partition }, readyAt: { N: '1' } });
}

function listed(partition: string, place: (id: string) => string): Attributes {
  return (id) => ({ directoryKey: { S: partition }, directoryName: { S: place(id) } });
}

const IDS = ['plain', 'of a tenant', 'of a key 1', 'of a key 2', 'of a key 3'];
const TASKS = { any: defineTask({ name: 'any', run: () => 'ok' }) };
