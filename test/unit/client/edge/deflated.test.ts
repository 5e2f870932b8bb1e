/** An isolate without zlib reads rows whose JSON a worker has deflated. */
import { deflateRawSync } from 'node:zlib';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { EVENTS } from '../../../../bench/events.ts';
import { connectDynamo } from '../../../../shared/dynamo/connect.ts';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { taskKey } from '../../../../shared/dynamo/engine/keys.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { createTaskStore } from '../../../../shared/tasks/rows/task/dynamo-task-store.ts';
import { TaskClient } from '../../../../shared/tasks/queue/task-client.ts';
import type { ReadyTask } from '../../../../shared/tasks/task/task.ts';
import { claimOf } from '../../../../shared/tasks/task/task.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { stampOf } from '../../../../shared/core/lease/write.ts';
import { inflatingDriver } from '../../../../shared/client/edge/inflating-driver.ts';
import type { EdgeLeasehold } from '../../../../shared/client/edge/edge-leasehold.ts';
import { bundleEdge, openIsolate } from '../../../support/isolates.ts';
import { newTables } from '../../../support/new-tables.ts';

const endpoint = inject('embeddedEndpoint') ?? inject('dynamodbLocalEndpoint');
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const [EVENT, OTHER] = [EVENTS['GitHub push'], EVENTS['Stripe invoice']];
const queue = 'default';

test('rows in refusals are inflated as well, of one write and of each part of a transaction', async () => {
  const row = { input: new Uint8Array(deflateRawSync('{"n":1}')), other: new Uint8Array([1]) };
  const fault = new DynamoFault('transactionCanceled', {
    code: 'TransactionCanceledException',
    message: 'canceled',
    item: { ...row },
    reasons: [
      { code: 'None', message: undefined, item: undefined },
      { code: 'ConditionalCheckFailed', message: undefined, item: { ...row } },
    ],
  });
  const driver = inflatingDriver({ attempt: () => Promise.reject(fault) });

  await expect(driver.attempt('transactWrite', { TransactItems: [] }, new AbortController().signal)).rejects.toBe(
    fault,
  );
  for (const item of [fault.item, fault.reasons[1]?.item]) expect(item).toEqual({ ...row, input: '{"n":1}' });
});

describe.skipIf(endpoint === null)('an isolate without zlib', () => {
  const table = `edge-deflated-${systemRuntime.ids.unique()}`;
  let edge: EdgeLeasehold;
  let driver: DynamoDriver;
  let tasks: ReturnType<typeof createTaskStore>;
  let node: TaskClient;

  beforeAll(async () => {
    await newTables(endpoint ?? '', table);
    ({ driver } = connectDynamo({ endpoint: endpoint ?? '' }, systemRuntime));
    tasks = createTaskStore(new Sender({ driver, runtime: systemRuntime }), { table, shards: 8 });
    node = new TaskClient({ store: tasks, runtime: systemRuntime }, { queue });
    const isolate = openIsolate(await bundleEdge());
    edge = isolate.exports.createLeasehold({ table, region: 'us-east-1', endpoint: endpoint ?? '', credentials });
  });

  const rowOf = async (id: string) =>
    (await driver.attempt('get', { TableName: table, Key: { ...taskKey(queue, id) } }, new AbortController().signal))
      .Item ?? {};

  test('waits for a long result, and reads a long input', async () => {
    await node.enqueue('ship', EVENT, { id: 'done' });
    const claim = await tasks.claim((await tasks.get({ queue, id: 'done' })) as ReadyTask, 's', stampOf(systemRuntime));
    if (claim.kind !== 'applied') throw new Error('refused');
    await tasks.complete(claimOf(claim.row), OTHER, stampOf(systemRuntime));
    expect((await rowOf('done')).result).toBeInstanceOf(Uint8Array);

    const outcome = await edge.tasks.result('done', { wait: 0 });

    expect(JSON.stringify(outcome)).toBe(JSON.stringify(await node.result('done', { wait: 0 })));
    expect(outcome).toMatchObject({ kind: 'done', task: { id: 'done' } });
  });

  test('compares the input of an existing task by value, in the row that refused its write', async () => {
    await node.enqueue('ship', EVENT, { id: 'same' });

    expect(await edge.tasks.enqueue('ship', EVENT, { id: 'same' })).toMatchObject({ created: false });
    await expect(edge.tasks.enqueue('ship', OTHER, { id: 'same' })).rejects.toMatchObject({ name: 'MismatchError' });
  });

  test('writes text, which Node reads', async () => {
    await edge.tasks.enqueue('ship', EVENT, { id: 'text' });

    expect((await rowOf('text')).input).toBe(JSON.stringify(EVENT));
    expect(await node.enqueue('ship', EVENT, { id: 'text' })).toMatchObject({ created: false });
  });

  test('reports a row that inflates to more than an item may have', async () => {
    await node.enqueue('ship', EVENT, { id: 'bomb' });
    const input = new Uint8Array(deflateRawSync(Buffer.alloc(1_000_000, ' ')));
    await driver.attempt(
      'put',
      { TableName: table, Item: { ...(await rowOf('bomb')), input } },
      new AbortController().signal,
    );

    await expect(edge.tasks.result('bomb', { wait: 0 })).rejects.toThrow(/input cannot be inflated.*409600 bytes/);
  });
});
