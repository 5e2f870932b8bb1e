/** JSON of 700 bytes or more is deflated in its row, and every reader gets the value itself. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { CorruptItemError, MismatchError } from '../../../shared/core/errors.ts';
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import { payloadKey, taskKey } from '../../../shared/dynamo/engine/keys.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { EVENTS } from '../../../bench/events.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';

const EVENT = EVENTS['GitHub push'];
const OTHER = EVENTS['Stripe invoice'];
const inflated = (value: unknown): unknown => JSON.parse(inflateRawSync(value as Uint8Array).toString());

describeOnStore('long JSON in rows', (open) => {
  let q: QueueUnderTest;
  let seen: unknown[];
  const see = defineTask({ name: 'see', run: (input: unknown) => void seen.push(input) });

  beforeEach(() => {
    q = openQueue(open());
    seen = [];
  });

  const ask = (input: unknown, options: EnqueueOptions = {}) => q.client.enqueue('see', input, { id: 't', ...options });
  const get = (id = 't') => q.tasks.get({ queue: q.queue, id });
  const { signal } = new AbortController();
  const rowOf = async (key: object = taskKey(q.queue, 't')): Promise<DynamoItem> =>
    (await open().driver.attempt('get', { TableName: q.table, Key: { ...key }, ConsistentRead: true }, signal)).Item ??
    {};
  const store = (input: unknown) =>
    open().driver.attempt(
      'update',
      {
        TableName: q.table,
        Key: { ...taskKey(q.queue, 't') },
        UpdateExpression: 'SET #input = :input',
        ExpressionAttributeNames: { '#input': 'input' },
        ExpressionAttributeValues: { ':input': input },
      },
      signal,
    );

  test('keeps a short input and result as text', async () => {
    await ask({ n: 1 });
    await q.work({ see: defineTask({ name: 'see', run: () => ({ n: 2 }) }) });

    expect(await rowOf()).toMatchObject({ input: '{"n":1}', result: '{"n":2}' });
  });

  test('stores 2 KB of input, progress and result as binary, and returns them unchanged', async () => {
    await ask(EVENT);
    const work = defineTask({
      name: 'see',
      retry: { backoff: 10 },
      async run(input: unknown, task: TaskContext) {
        seen.push([input, task.progress]);
        if (task.progress !== undefined) return EVENT;
        await task.saveProgress(OTHER);
        throw new Error('once more');
      },
    });
    while ((await get())?.state !== 'done') await q.work({ see: work });

    expect(seen).toEqual([
      [EVENT, undefined],
      [EVENT, OTHER],
    ]);
    expect(await q.client.result('t', { wait: 0 })).toMatchObject({ kind: 'done', result: EVENT });
    expect(await get()).toMatchObject({ input: EVENT, progress: OTHER });
    const { input, progress, result } = await rowOf();
    expect([input, progress, result].map(inflated)).toEqual([EVENT, OTHER, EVENT]);
  });

  test('compares inputs by value, in whatever form the row stores them', async () => {
    await ask(EVENT);
    expect(await ask(EVENT)).toMatchObject({ created: false });
    await expect(ask(OTHER)).rejects.toThrow(MismatchError);

    for (const form of [
      JSON.stringify(EVENT),
      new Uint8Array(deflateRawSync(JSON.stringify(EVENT, undefined, 2), { level: 1 })),
    ]) {
      await store(form);
      expect(await ask(EVENT)).toMatchObject({ created: false });
      await expect(ask(OTHER)).rejects.toThrow(MismatchError);
    }
    await q.work({ see });
    expect(seen).toEqual([EVENT]);
  });

  test('deflates an input in a second row', async () => {
    const large: unknown = Array.from({ length: 20 }, () => EVENT);
    await ask(large);
    const { nonce = '' } = (await q.tasks.get({ queue: q.queue, id: 't' }))?.payload ?? {};
    const { text } = await rowOf(payloadKey(q.queue, 't', nonce));
    expect(inflated(text)).toEqual(large);

    await q.work({ see });

    expect(seen).toEqual([large]);
  });

  test.each([
    ['inflates to more than an item may have', deflateRawSync(Buffer.alloc(500_000, ' ')), /input.*409600 bytes/],
    ['is no raw deflate', Buffer.from([1, 2, 3]), /input.*no raw deflate/],
    ['is cut short', deflateRawSync(JSON.stringify(EVENT)).subarray(0, 300), /input.*no raw deflate/],
    ['inflates to broken JSON', deflateRawSync('{"card" 4111'), /input is not JSON at position 8/],
  ])('a row whose input %s is damaged, and stops no other', async (_what, bytes, message) => {
    await ask(EVENT);
    await q.client.enqueue('see', { n: 1 }, { id: 'other' });
    await store(new Uint8Array(bytes));

    await expect(get()).rejects.toThrow(CorruptItemError);
    await expect(get()).rejects.toThrow(message);
    expect(await q.work({ see })).toMatchObject({ settled: { done: 1 } });
    expect(seen).toEqual([{ n: 1 }]);
  });
});
