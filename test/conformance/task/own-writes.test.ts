/** A task and its caller's writes in one call: applied together or not at all, whatever the network does. */
import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import { beforeEach, expect, test } from 'vitest';
import { ConfigurationError, MismatchError } from '../../../shared/core/errors.ts';
import { taskKey } from '../../../shared/dynamo/engine/keys.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import { CommitRefusedError } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { INPUT_LIMIT_BYTES } from '../../../shared/tasks/task/task.ts';
import type { UserWrite } from '../../../shared/tasks/task/task-store.ts';
import type { OwnWrites } from '../../../shared/tasks/task/user-writes.ts';
import { Copies } from '../../support/copies.ts';
import { FaultyDriver } from '../../support/faulty-driver.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import type { TestStore } from '../../support/stores.ts';
import { describeOnStore } from '../../support/stores.ts';

const work = defineTask({ name: 'work', run: (n: number) => n });
const NEVER = new AbortController().signal;
const IN_LINE = { key: 'customer-1', ordered: true } as const;

describeOnStore('a task with writes of its caller', (open) => {
  let store: TestStore;
  let network: FaultyDriver;
  let copies: Copies;
  let q: QueueUnderTest;

  beforeEach(() => {
    store = open();
    network = new FaultyDriver(store.driver);
    copies = new Copies(network);
    q = openQueue({ ...store, driver: copies });
  });

  const keyOf = (name: string) => ({ pk: `order#${q.queue}#${name}`, sk: 'order' });
  const row = async (name: string) =>
    (await store.driver.attempt('get', { TableName: q.table, Key: keyOf(name), ConsistentRead: true }, NEVER)).Item;
  const write = (name: string) =>
    store.driver.attempt('put', { TableName: q.table, Item: { ...keyOf(name), by: 'another' } }, NEVER);
  const order = (name = 'o', ConditionExpression = 'attribute_not_exists(pk)'): UserWrite => ({
    Put: { TableName: q.table, Item: keyOf(name), ConditionExpression },
  });
  /** Only if its row is there. */
  const sale = (name = 'stock'): UserWrite => ({
    Update: {
      TableName: q.table,
      Key: keyOf(name),
      UpdateExpression: 'ADD #sold :one',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeNames: { '#sold': 'sold' },
      ExpressionAttributeValues: { ':one': 1 },
    },
  });
  const enqueue = (id: string, writes: readonly UserWrite[], options: EnqueueOptions & OwnWrites = {}, n = 1) =>
    q.client.enqueue(work, n, { id, writes, ...options });
  const get = (id: string) => q.client.get(id);
  const told = (asking: Promise<unknown>) => asking.catch((error: unknown) => error);
  /** As the store has it. */
  const stored = async (id: string) => {
    const Key = { ...taskKey(q.queue, id) };
    return (await store.driver.attempt('get', { TableName: q.table, Key, ConsistentRead: true }, NEVER)).Item;
  };

  test.each<[string, EnqueueOptions]>([
    ['is applied with them', {}],
    ['joins its line with them', IN_LINE],
    ['has a limit of its key', { key: 'k', limit: 2 }],
  ])('%s', async (_what, options) => {
    const items: NonNullable<TransactWriteCommandInput['TransactItems']> = [
      { Put: { TableName: q.table, Item: { ...keyOf('o'), amount: 1 } } },
    ];

    expect(await enqueue('a', items, options)).toMatchObject({ id: 'a', created: true });
    expect(await row('o')).toMatchObject({ amount: 1 });
    expect((await q.work({ work })).settled.done).toBe(1);
  });

  test('takes a large input in the same transaction', async () => {
    const echo = defineTask({ name: 'echo', run: (text: string) => text.length });
    await q.client.enqueue(echo, 'x'.repeat(INPUT_LIMIT_BYTES + 1), { id: 'a', writes: [order()] });
    await q.work({ echo });

    expect(await get('a')).toMatchObject({ state: 'done', result: INPUT_LIMIT_BYTES + 1 });
  });

  test.each([
    ['plain', {}],
    ['ordered', IN_LINE],
  ])('a false condition refuses all of it (%s), and names its write', async (_how, options) => {
    await write('o');

    const error = await told(enqueue('a', [sale('o'), order('p'), order('o'), sale('q')].slice(1), options));

    expect(error).toBeInstanceOf(CommitRefusedError);
    const code = 'ConditionalCheckFailed';
    expect((error as CommitRefusedError).reasons).toMatchObject([
      { code: 'None', index: 0, table: q.table },
      { code, index: 1, table: q.table },
      { code, index: 2, table: q.table, key: keyOf('q') },
    ]);
    expect(await get('a')).toBeUndefined();
    expect(await row('p')).toBeUndefined();
    expect(await stored('a')).toBeUndefined();
    // The line is empty too.
    expect(await enqueue('a', [], options)).toMatchObject({ created: true });
    expect((await q.work({ work })).settled.done).toBe(1);
  });

  test.each<[string, EnqueueOptions, number]>([
    ['the same work', {}, 1],
    ['other work, which is kept', { onDuplicate: 'keep' }, 2],
    ['the same work in a line', IN_LINE, 1],
  ])('an id that is taken by %s applies none of them', async (_what, options, n) => {
    await enqueue('a', [], options);

    expect(await enqueue('a', [order()], options, n)).toMatchObject({ created: false });
    expect(await row('o')).toBeUndefined();
  });

  test('an id that is taken by other work is a mismatch', async () => {
    await enqueue('a', []);

    await expect(enqueue('a', [order()], {}, 2)).rejects.toThrow(MismatchError);
    expect(await row('o')).toBeUndefined();
  });

  test('a later caller is behind the answered one in the line, and callers of one row share no transaction', async () => {
    await write('stock');
    const wave = async (...ids: string[]) => {
      await Promise.all(ids.map((id, at) => enqueue(id, at === 1 ? [] : [sale()], IN_LINE)));
    };
    await wave('a', 'b', 'c');
    await wave('d', 'e', 'f');

    const tickets = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(async (id) => (await get(id))?.links?.line));
    const [first, second] = [tickets.slice(0, 3), tickets.slice(3)].map((all) => all.map((one) => one?.ticket ?? 0));
    expect(Math.max(...first!)).toBeLessThan(Math.min(...second!));
    expect(new Set([...first!, ...second!]).size).toBe(6);
    expect(await row('stock')).toMatchObject({ sold: 4 });
  });

  test.each([
    ['plain', {}],
    ['ordered', IN_LINE],
  ])('an answer that was lost is found again (%s)', async (_how, options) => {
    network.accidents.push('dropResponse', 'dropRequest');

    expect(await enqueue('a', [order()], options)).toMatchObject({ created: true });
    expect(await row('o')).toBeDefined();
  });

  test.each([
    ['plain', {}],
    ['ordered', IN_LINE],
  ])('a late copy of a refused call applies nothing (%s), and readers see no task', async (_how, options) => {
    network.accidents.push('dropRequest');
    expect(await told(enqueue('a', [sale()], options))).toBeInstanceOf(CommitRefusedError);
    network.accidents.push('dropRequest');
    expect(await told(enqueue('a', [sale()], options))).toBeInstanceOf(CommitRefusedError);
    await write('stock');

    expect(await copies.arrive()).toBe(0);
    expect(await row('stock')).toEqual({ ...keyOf('stock'), by: 'another' });
    expect(await get('a')).toBeUndefined();
    expect(await q.tasks.getMany([{ queue: q.queue, id: 'a' }])).toEqual([]);

    expect(await enqueue('a', [sale()], options)).toMatchObject({ created: true });
    expect((await q.work({ work })).settled.done).toBe(1);
    expect(await row('stock')).toMatchObject({ sold: 1 });
  });

  test('the next task is written over a bar, and still refuses what the bar refused', async () => {
    network.accidents.push('dropRequest');
    await told(enqueue('a', [sale()]));
    await write('stock');

    expect(await enqueue('a', [])).toMatchObject({ created: true });
    expect(await copies.arrive()).toBe(0);
  });

  test('a copy that is faster than the bar has created the task', async () => {
    network.accidents.push('dropRequest');
    const enqueuing = told(enqueue('a', [sale()]));
    copies.beforePut = async () => {
      await write('stock');
      expect(await copies.arrive()).toBeGreaterThan(0);
    };

    expect(await enqueuing).toMatchObject({ id: 'a', created: true });
    expect(await row('stock')).toMatchObject({ sold: 1 });
  });

  test.for<[string, () => readonly UserWrite[], EnqueueOptions, string]>([
    ['what is no list', () => 'all' as never, {}, 'the writes of enqueue must be a list'],
    ['what is no write', () => [{}], {}, 'number 1 is not a write'],
    ['a replacement', () => [order()], { onDuplicate: 'replace' }, 'has writes and onDuplicate = replace'],
    ['a window', () => [order()], { onDuplicate: 'keep', window: '1h' }, 'has writes and window'],
    ['more than a transaction takes', () => Array.from({ length: 98 }, () => order()), {}, 'has 98 writes'],
    ['a row twice', () => [order(), order()], {}, 'was refused'],
    ['what the table cannot store', () => [{ Put: { TableName: q.table, Item: { pk: 1, sk: 1 } } }], {}, 'was refused'],
  ])('refuses %s at once', async ([what, writes, options, message], context) => {
    context.skip(what === 'a row twice' && open().engine === 'dynamodb-local', 'it writes one after the other');
    const error = await told(enqueue('a', writes(), options));

    expect(error).toBeInstanceOf(ConfigurationError);
    expect(String(error)).toContain(message);
    expect(await get('a')).toBeUndefined();
  });
});
