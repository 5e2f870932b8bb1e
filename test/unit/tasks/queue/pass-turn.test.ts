import { beforeEach, expect, test } from 'vitest';
import { judgeKeys } from '../../../../cli/doctor/keys.ts';
import type { QueueConnection } from '../../../../cli/connection.ts';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { lineKey, taskKey } from '../../../../shared/dynamo/engine/keys.ts';
import type { OperatorPorts } from '../../../../shared/tasks/queue/operator-ports.ts';
import { passTurn, reportTurn } from '../../../../shared/tasks/queue/pass-turn.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { openMemoryQueue, QUEUE } from '../../../support/memory-queue.ts';

let q: MemoryQueue;
let driver: DynamoDriver;

beforeEach(async () => {
  q = openMemoryQueue((one) => (driver = one));
  for (const id of ['a', 'b', 'c']) await q.client.enqueue('task', {}, { id, key: 'k', ordered: true });
});

const portsOf = (operations = q.operations): OperatorPorts =>
  ({
    tasks: q.tasks,
    queues: { get: () => Promise.resolve() },
    operations,
    runtime: q.runtime,
  }) as unknown as OperatorPorts;
const pass = (ports = portsOf()) => q.clock.runUntil(passTurn(ports, QUEUE, 'k'), () => true);

async function cancel(id: string): Promise<void> {
  const task = await q.tasks.get({ queue: QUEUE, id });
  if (task?.state !== 'ready') throw new Error(`${id} does not wait`);
  await q.tasks.cancel(task, { at: q.clock.now(), reason: 'test' }, { now: q.clock.now(), nonce: id });
}

test('passes no turn that has moved while it waited for the index', async () => {
  const passing = passTurn(portsOf(), QUEUE, 'k');
  await q.clock.advance(1_000);
  await cancel('a');

  expect(await q.clock.runUntil(passing, () => true)).toEqual({ kind: 'alive', head: 'b', state: 'ready' });
});

test('leaves the turn of a cancelled task to the worker that meets it', async () => {
  await cancel('b');
  await cancel('a');

  expect(await pass()).toEqual({ kind: 'alive', head: 'b', state: 'cancelled' });
});

test('passes no turn while a row of the queue is damaged, because its task may have it', async () => {
  const damage = new Error('damaged');
  const getManyNow: MemoryQueue['operations']['getManyNow'] = (_keys, onDamaged) => {
    onDamaged(damage);
    return Promise.resolve([]);
  };

  await expect(pass(portsOf({ ...q.operations, getManyNow }))).rejects.toBe(damage);
  expect(await pass()).toMatchObject({ kind: 'alive', head: 'a' });
});

/** Without attributes the row is in no index, like a deleted one. */
const lose = (id: string) =>
  driver.attempt('put', { TableName: q.table, Item: { ...taskKey(QUEUE, id) } }, new AbortController().signal);

const examine = () => {
  const turn = (key: string) => reportTurn(portsOf(), QUEUE, key);
  const there = { queue: QUEUE, shards: 1, store: q.tasks, queues: { glance: () => Promise.resolve() } };
  const operator = { turn, keys: () => Promise.resolve([]) };
  return q.clock.runUntil(judgeKeys({ ...there, operator } as unknown as QueueConnection, q.clock), () => true);
};

/** A producer may write the row of a line. */
const setBack = async () => {
  const key = { TableName: q.table, Key: { ...lineKey(QUEUE, 'k') } };
  const { Item } = await driver.attempt('get', key, new AbortController().signal);
  const turn = Number(Item?.turn) - 1_000_000;
  await driver.attempt('put', { TableName: q.table, Item: { ...Item, turn } }, new AbortController().signal);
};

test.each<[what: string, act: () => Promise<unknown>, next: string]>([
  ['its task is gone', () => lose('a'), 'b'],
  ['its task and the one behind it are gone', () => Promise.all([lose('a'), lose('b')]), 'c'],
  ['it was set back', setBack, 'a'],
])('the doctor finds a line whose turn no task has, and passing it once helps: %s', async (_what, act, next) => {
  expect(await examine()).toMatchObject({ health: 'ok' });
  await act();

  expect(await examine()).toMatchObject({
    health: 'warning',
    found: 'no task has the turn in the line of key k, and others wait behind it',
    remedy: `leasehold keys pass k --queue ${QUEUE}`,
  });
  expect(await pass()).toMatchObject({ kind: 'passed', next });
  expect(await pass()).toMatchObject({ kind: 'alive', head: next });
  expect(await examine()).toMatchObject({ health: 'ok' });
});

test('a turn that moves while the tasks are read is not reported as lost', async () => {
  await lose('a');
  let reads = 0;
  const getLine: MemoryQueue['operations']['getLine'] = async (queue, key) => {
    if (++reads === 2) await passTurn(portsOf(), QUEUE, 'k');
    return q.operations.getLine(queue, key);
  };

  const report = reportTurn(portsOf({ ...q.operations, getLine }), QUEUE, 'k');

  expect(await q.clock.runUntil(report, () => true)).toEqual({ kind: 'alive', head: 'b', state: 'ready' });
});
