/**
 * A role's possible actions on the table outside the library: each line of the table in docs/security.md, tried under its synthesized
 * policies.
 */
import { readFileSync } from 'node:fs';
import {
  BatchWriteItemCommand,
  DeleteItemCommand,
  DynamoDBClient,
  ExecuteStatementCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { RowKey } from '../../shared/dynamo/engine/keys.ts';
import {
  batchKey,
  lineKey,
  lockKey,
  payloadKey,
  queueKey,
  readyPartitionKey,
  scheduleKey,
  semaphoreKey,
  sessionKey,
  taskConcurrencyKey,
  taskKey,
  groupPartitionKey,
  waitGroupKey,
} from '../../shared/dynamo/engine/keys.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { PolicyGate } from './policy-gate.ts';
import { Gates, newRole, upstream } from './gates.ts';
import { synthesize } from './synthesize.ts';
import { clientConfig } from './tools.ts';
import { SCHEMA_VERSION } from '../../shared/dynamo/engine/schema.ts';
import { newTables } from '../support/new-tables.ts';

const table = `limits-${systemRuntime.ids.unique()}`;

const { stack, workers } = synthesize();
const roles = {
  grantEnqueue: newRole(stack, 'enqueue', (role) => workers.grantEnqueue(role)),
  grantSchedule: newRole(stack, 'schedule', (role) => workers.grantSchedule(role)),
  grantCallbacks: newRole(stack, 'callbacks', (role) => workers.grantCallbacks(role)),
  grantReplace: newRole(stack, 'replace', (role) => workers.grantReplace(role)),
  grantCoordinate: newRole(stack, 'coordinate', (role) => workers.grantCoordinate(role)),
  grantObserve: newRole(stack, 'observe', (role) => workers.grantObserve(role)),
  grantOperate: newRole(stack, 'operate', (role) => workers.grantOperate(role)),
  worker: workers.worker.role,
  dispatcher: workers.dispatcher.handler.role,
  waker: workers.waker!.handler.role,
};
const gates = new Gates(stack, workers, table);

type Attempt = (client: DynamoDBClient) => Promise<unknown>;
type Attributes = Readonly<Record<string, string | number>>;

const TASK = taskKey('media', 'victim');
const NEW_TASK = {
  v: SCHEMA_VERSION,
  queue: 'media',
  id: 'victim',
  name: 'resize',
  state: 'ready',
  leaseCounter: 0,
  nonce: 'n',
};
const DONE = { state: 'done', finishedAt: 1, result: '"forged"' };
const PAYLOAD = payloadKey('media', 'victim', 'x');
const ACT = { pk: 'audit#2026-11', sk: 'act#2026-11-22T00:00:00.000Z#1' };

const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  'set a task to done with a forged result': update(TASK, DONE),
  'overwrite a task with a finished one': put(TASK, { ...NEW_TASK, ...DONE }),
  'overwrite a task with a new one': put(TASK, NEW_TASK),
  'delete a task': remove(TASK),
  'put a task into another queue': put(taskKey('mail', '1'), NEW_TASK),
  'read the large input of a task': read(PAYLOAD),
  'delete the large input of a task': remove(PAYLOAD),
  'read the large input of a task by deleting it': (client) =>
    client.send(new DeleteItemCommand({ TableName: table, Key: keyOf(PAYLOAD), ReturnValues: 'ALL_OLD' })),
  'read the large input of a task by overwriting it': (client) =>
    client.send(new PutItemCommand({ TableName: table, Item: keyOf(PAYLOAD), ReturnValues: 'ALL_OLD' })),
  'read the large input of a task by a put that is refused': readByRefusal,
  'ask in PartiQL': (client) =>
    client.send(new ExecuteStatementCommand({ Statement: `SELECT * FROM "${table}" WHERE pk = '${TASK.pk}'` })),
  'write tasks in a batch, which has no conditions': (client) =>
    client.send(
      new BatchWriteItemCommand({
        RequestItems: { [table]: [{ PutRequest: { Item: { ...keyOf(TASK), ...valuesOf(NEW_TASK) } } }] },
      }),
    ),
  'put an entry of its row among the tasks of another queue': put(TASK, {
    ...NEW_TASK,
    readyKey: readyPartitionKey('mail', 'normal', 0),
    readyAt: 1,
  }),
  'put an entry of a lock among the tasks that may be due': update(lockKey('reports/nightly'), {
    readyKey: readyPartitionKey('media', 'normal', 0),
    readyAt: 1,
  }),
  'put an entry of a lock among the tasks of keys': update(lockKey('reports/nightly'), {
    directoryKey: groupPartitionKey('media', 'normal', 0),
    directoryName: '0',
  }),
  'put an entry of a schedule into the index of another queue': update(scheduleKey('media', 'nightly'), {
    readyKey: 'schedule#mail',
    readyAt: 1,
  }),
  'write a task': put(taskKey('media', '2'), NEW_TASK),
  'define a schedule of another queue': update(scheduleKey('mail', 'nightly'), { cron: '* * * * * *' }),
  'open a session': put(sessionKey('new'), { v: 1 }),
  'change how many workers there may be': update(semaphoreKey('workers/media'), { limit: 0 }),
  'end the session of a worker': update(sessionKey('of a worker'), { status: 'invalid' }),
  'change a task': update(TASK, { state: 'cancelled' }),
  'finish a task of its queue that another worker has': update(TASK, DONE),
  "end the session of another queue's worker": update(sessionKey('of another'), { status: 'invalid' }),
  'change a task of another queue': update(taskKey('mail', '1'), { state: 'cancelled' }),
  "take permits of another queue's workers": update(semaphoreKey('workers/mail'), { free: 0 }),
  'pause or open its queue': update(queueKey('media'), { paused: 1 }),
  'delete the row of a lock': remove(lockKey('reports/nightly')),
  'take a lock': update(lockKey('reports/nightly'), { session: 'mine' }),
  'stall the ordered tasks of a key': update(lineKey('media', 'acme'), { turn: 2 }),
  'keep the callback of a batch from running': put(batchKey('media', 'b'), { v: 1, pending: 1_000 }),
  'choose the name of any task of its queue': put(TASK, { ...NEW_TASK, name: 'another' }),
  'raise its maxWorkers': update(semaphoreKey('workers/media'), { limit: 1_000 }),
  'reset the count of a key': update(taskConcurrencyKey('media', 'acme'), { running: 0 }),
  'forge what was written down of an act': put({ ...ACT, sk: `${ACT.sk}0` }, { by: 'ada', status: 'done' }),
  'overwrite what was written down of an act': put(ACT, { by: 'nobody', status: 'done' }),
  'delete what was written down of an act': remove(ACT),
};

/** Rows that have a `ttl`, or could have one. */
const ROWS: Readonly<Record<string, RowKey>> = {
  task: TASK,
  batch: batchKey('media', 'b'),
  line: lineKey('media', 'acme'),
  key: taskConcurrencyKey('media', 'acme'),
  schedule: scheduleKey('media', 'nightly'),
  queue: queueKey('media'),
  "workers' permits": semaphoreKey('workers/media'),
  lock: lockKey('reports/nightly'),
  semaphore: semaphoreKey('reports'),
  'wait group': waitGroupKey('reports'),
  session: sessionKey('of a worker'),
  act: ACT,
};

const DOCUMENT = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8');
const [, TABLE = ''] = DOCUMENT.split(
  '| role | IAM refuses to | only the library refuses to | delete by `ttl`: the library only |\n',
);
const LINES = Array.from(
  (TABLE.split('\n\n')[0] ?? '').matchAll(/^\| `?(\w+)`? \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$/gm),
  ([, role = '', byIam = '', byLibrary = '', byTtl = '']) => ({ role, byIam, byLibrary, byTtl }),
);
const CASES = LINES.flatMap(({ role, byIam, byLibrary }) => [
  ...casesOf(role, byIam, 'IAM'),
  ...casesOf(role, byLibrary, 'the library only'),
]);

function casesOf(role: string, cell: string, stop: string) {
  return cell
    .split('; ')
    .filter((tries) => tries !== '')
    .map((tries) => ({ role, tries, stop }));
}

describe.skipIf(upstream === null)('code that has a role and calls DynamoDB directly', () => {
  const opened = new Map<string, PolicyGate>();
  beforeAll(async () => {
    await newTables(upstream ?? '', table);
    for (const [name, role] of Object.entries(roles)) opened.set(name, await gates.for(role));
  });
  // Some attempts take it away.
  beforeEach(async () => {
    const client = new DynamoDBClient({ endpoint: upstream ?? '', ...clientConfig });
    await put(PAYLOAD, { text: 'a secret' })(client);
    client.destroy();
  });
  afterAll(() => gates.close());

  test('is in the table of the documents, line by line', () => {
    expect(CASES.length).toBeGreaterThan(15);
    expect(new Set(CASES.map(({ tries }) => tries))).toEqual(new Set(Object.keys(ATTEMPTS)));
  });

  test.each(CASES)('$role: to $tries is stopped by $stop', async ({ role, tries, stop }) => {
    const client = new DynamoDBClient({ endpoint: opened.get(role)?.endpoint ?? '', ...clientConfig, maxAttempts: 1 });

    const refusal = await ATTEMPTS[tries]!(client).then(
      () => undefined,
      (error: unknown) => (error as Error).name,
    );

    expect(refusal).toBe(stop === 'IAM' ? 'AccessDeniedException' : undefined);
    client.destroy();
  });

  test.each(LINES)('$role: to delete by `ttl` is stopped by the library only for: $byTtl', async ({ role, byTtl }) => {
    const client = new DynamoDBClient({ endpoint: opened.get(role)?.endpoint ?? '', ...clientConfig, maxAttempts: 1 });
    const open: string[] = [];
    for (const [row, key] of Object.entries(ROWS)) {
      const ways = [update(key, { ttl: 1 }), put(key, { v: 1, ttl: 1 })];
      const ends = await Promise.allSettled(ways.map((way) => way(client)));
      if (ends.some(({ status }) => status === 'fulfilled')) open.push(row);
    }

    expect(open.join(', ')).toBe(byTtl);
    client.destroy();
  });
});

function put(key: RowKey, attributes: Attributes): Attempt {
  return (client) =>
    client.send(new PutItemCommand({ TableName: table, Item: { ...keyOf(key), ...valuesOf(attributes) } }));
}

function update(key: RowKey, attributes: Attributes): Attempt {
  const names = Object.keys(attributes);
  return (client) =>
    client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: keyOf(key),
        UpdateExpression: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}`,
        ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
        ExpressionAttributeValues: Object.fromEntries(
          Object.entries(valuesOf(attributes)).map(([name, value]) => [`:${name}`, value]),
        ),
      }),
    );
}

function read(key: RowKey): Attempt {
  return (client) => client.send(new GetItemCommand({ TableName: table, Key: keyOf(key) }));
}

/** Changes no row: the existing row refuses the put, and comes back with the refusal. */
async function readByRefusal(client: DynamoDBClient): Promise<void> {
  const put = new PutItemCommand({
    TableName: table,
    Item: keyOf(PAYLOAD),
    ConditionExpression: 'attribute_not_exists(pk)',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  const refusal = (await client.send(put).catch((error: unknown) => error)) as Error & { readonly Item?: object };
  if (refusal.name !== 'ConditionalCheckFailedException') throw refusal;
  expect(refusal.Item).toHaveProperty('text');
}

function remove(key: RowKey): Attempt {
  return (client) => client.send(new DeleteItemCommand({ TableName: table, Key: keyOf(key) }));
}

function keyOf({ pk, sk }: RowKey) {
  return { pk: { S: pk }, sk: { S: sk } };
}

function valuesOf(attributes: Attributes): Record<string, { S: string } | { N: string }> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === 'number' ? { N: String(value) } : { S: value },
    ]),
  );
}
