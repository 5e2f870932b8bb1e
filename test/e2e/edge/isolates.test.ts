/** Isolates at the edge that share one table: each a context with the web's globals only, over `fetch`, on a separate engine. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createTable } from '../../../shared/dynamo/table.ts';
import { systemIds } from '../../../shared/core/runtime/ids.ts';
import type { EdgeBundle, Isolate } from '../../support/isolates.ts';
import { bundleEdge, openIsolate } from '../../support/isolates.ts';
import { openFetchDriver } from '../../support/drivers.ts';
import { TEST_CLIENT_SETTINGS } from '../../support/stores.ts';
import type { TwiceProxy } from '../../support/twice-proxy.ts';
import { startTwiceProxy } from '../../support/twice-proxy.ts';

const endpoint = inject('embeddedEndpoint') ?? inject('dynamodbLocalEndpoint');
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

describe.skipIf(endpoint === null).each(['direct', 'delivered twice'] as const)('isolates at the edge, %s', (way) => {
  const table = `edge-${systemIds.unique()}`;
  let bundle: EdgeBundle;
  let address = endpoint ?? '';
  let proxy: TwiceProxy | undefined;

  beforeAll(async () => {
    using client = disposable(new DynamoDBClient({ endpoint: address, ...TEST_CLIENT_SETTINGS }));
    await createTable(client.it, table);
    bundle = await bundleEdge();
    if (way === 'direct') return;
    // The second answers, and others come between the two.
    proxy = await startTwiceProxy(address, { answer: 'second', inARow: false });
    address = proxy.endpoint;
  });
  afterAll(() => proxy?.[Symbol.asyncDispose]());

  const leaseholdIn = ({ edge }: Isolate) =>
    edge.createLeasehold({ table, region: 'us-east-1', endpoint: address, credentials });
  const open = () => openIsolate(bundle);

  test('give each tenure its own token across lock cycles in four isolates', async () => {
    const cycles = async (): Promise<number[]> => {
      const tokens: number[] = [];
      await using session = await leaseholdIn(open()).session({ ttl: '1m' });
      for (let round = 0; round < 5; round++) {
        await using lock = await session.lock('cycles');
        tokens.push(lock.fencingToken);
      }
      return tokens;
    };
    const tokens = (await Promise.all([cycles(), cycles(), cycles(), cycles()])).flat();

    expect(tokens).toHaveLength(20);
    expect(new Set(tokens).size).toBe(20);
  });

  test('a thousand tasks are enqueued once each', async () => {
    const { tasks } = leaseholdIn(open());
    const requests = Array.from({ length: 1_000 }, (_, n) => tasks.validate('work', { n }, { id: `task-${n}` }));
    const first = await tasks.enqueueAll(await Promise.all(requests));
    const again = await tasks.enqueue('work', { n: 7 }, { id: 'task-7' });

    expect(first.every((result) => 'created' in result && result.created)).toBe(true);
    expect(again).toMatchObject({ id: 'task-7', created: false });
    expect(await tasks.get('task-999')).toMatchObject({ state: 'ready', input: { n: 999 } });
  });

  test('a rate limit holds among twenty isolates', async () => {
    const takes = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const limiter = leaseholdIn(open()).rateLimiter('calls', { rate: 1, per: '1d', burst: 30 });
        const kinds: string[] = [];
        for (let n = 0; n < 3; n++) kinds.push((await limiter.tryTake('caller')).kind);
        return kinds;
      }),
    );
    const taken = takes.flat().filter((kind) => kind === 'taken').length;

    expect(taken).toBeLessThanOrEqual(30);
    // A take that arrives twice costs up to two tokens: never too many, perhaps too few. Each of the 20 isolates may lose one whose
    // second arrival finds none left, and the first of all loses one, for its second arrival finds the bucket no longer full.
    expect(taken).toBeGreaterThanOrEqual(way === 'direct' ? 30 : Math.floor((30 - 20 - 1) / 2));
  });

  test('the lock of an isolate that was killed is taken over, and its late write is refused by the fence', async () => {
    const killed = open();
    // It must live until it has its lock, on a busy machine too.
    const session = await leaseholdIn(killed).session({ ttl: '5s', lockDelay: 0 });
    const lock = await session.lock('killed');
    const fence = killed.edge.dynamoFence(lock);
    const mine = { TableName: table, Key: { pk: 'mine', sk: 'mine' } };
    const ownedBy = (owner: string) => ({
      ...mine,
      UpdateExpression: 'SET theOwner = :owner',
      ExpressionAttributeValues: { ':owner': owner },
    });
    const late = fence.update(ownedBy('killed'));
    killed.kill();

    const heir = open();
    await using next = await leaseholdIn(heir).session({ ttl: '1m' });
    await using taken = await next.lock('killed', { wait: '5m' });
    using store = openFetchDriver({ endpoint: endpoint ?? '' });
    const { signal } = new AbortController();
    await store.attempt('update', heir.edge.dynamoFence(taken).update(ownedBy('heir')), signal);

    expect(taken.fencingToken).toBeGreaterThan(lock.fencingToken);
    await expect(store.attempt('update', late, signal)).rejects.toMatchObject({ kind: 'conditionFailed' });
    expect(await store.attempt('get', mine, signal)).toMatchObject({ Item: { theOwner: 'heir' } });
    expect(await leaseholdIn(heir).verify(lock.sequencer)).toMatchObject({ kind: 'superseded' });
    expect(await leaseholdIn(heir).verify(taken.sequencer)).toMatchObject({ kind: 'valid' });
  });
});

function disposable(it: DynamoDBClient): Disposable & { readonly it: DynamoDBClient } {
  return { it, [Symbol.dispose]: () => it.destroy() };
}
