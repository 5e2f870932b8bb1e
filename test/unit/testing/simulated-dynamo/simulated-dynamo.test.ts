import { describe, expect, test } from 'vitest';
import type { DynamoItem } from '../../../../shared/dynamo/engine/driver.ts';
import { simulatedDriver } from '../../../../shared/testing/simulated-dynamo/driver.ts';
import { TABLE, World } from './world.ts';

describe('the values of requests and answers', () => {
  test('copies values, so callers cannot change stored ones', () => {
    const world = new World();
    const item = { pk: 'a', list: [1], map: { x: 1 }, set: new Set(['a']), bytes: new Uint8Array([1]) };
    world.put(item);

    item.list.push(2);
    item.set.add('b');
    item.bytes[0] = 9;
    const read = world.get('a') as typeof item;
    read.map.x = 2;
    read.bytes[0] = 8;

    expect(world.get('a')).toStrictEqual({
      pk: 'a',
      list: [1],
      map: { x: 1 },
      set: new Set(['a']),
      bytes: new Uint8Array([1]),
    });
  });

  test('may be called whatever JavaScript calls its own', () => {
    const world = new World();
    const item = JSON.parse('{ "pk": "a", "__proto__": { "x": 1 }, "constructor": "c" }') as DynamoItem;
    world.put(item);

    expect(JSON.stringify(world.get('a'))).toBe('{"pk":"a","__proto__":{"x":1},"constructor":"c"}');
    expect(Object.getPrototypeOf(world.get('a'))).toBe(Object.prototype);
  });

  test('leaves out what is undefined', () => {
    const world = new World();
    world.put({ pk: 'a', gone: undefined, list: [undefined, 1] });

    expect(world.get('a')).toStrictEqual({ pk: 'a', list: [1] });
  });
});

describe('limits', () => {
  test.each([
    [400 * 1024, true],
    [400 * 1024 + 1, false],
  ])('an item of %i bytes is taken: %s', (bytes, isTaken) => {
    const world = new World();
    const item = { pk: 'a', f: 'x'.repeat(bytes - 4) };

    if (isTaken) expect(() => world.put(item)).not.toThrow();
    else expect(() => world.put(item)).toThrow('Item size has exceeded');
  });

  test.each([
    [{ pk: '' }, 'empty string value'],
    [{ pk: 1 }, 'Type mismatch for key'],
    [{ id: 'a' }, 'Missing the key pk'],
    [{ pk: 'k'.repeat(2049) }, 'maximum size limit'],
    [{ pk: 'a', queue: 1 }, 'Type mismatch for Index Key'],
    [{ pk: 'a', queue: '' }, 'secondary index key'],
    [{ pk: 'a', '': 1 }, 'Empty attribute name'],
    [{ pk: 'a', n: 2 ** 60 }, 'not exact'],
  ])('refuses %j', (item, message) => {
    expect(() => new World().put(item as DynamoItem)).toThrow(message);
  });

  test('refuses parameters from before there were expressions instead of ignoring them', () => {
    const fault = new World().fault('put', { TableName: TABLE, Item: { pk: 'a' }, Expected: {} });

    expect(fault).toMatchObject({ kind: 'rejected', code: 'NotSimulated' });
  });
});

describe('sweepExpired', () => {
  const YEAR_SECONDS = 365 * 24 * 60 * 60;

  test('removes expired rows, unless they expired implausibly long ago', () => {
    const world = new World();
    world.now = 10 * YEAR_SECONDS * 1_000;
    const now = world.now / 1_000;
    world.put({ pk: 'passed', ttl: now - 1 });
    world.put({ pk: 'now', ttl: now });
    world.put({ pk: 'text', ttl: '1' });
    world.put({ pk: 'milliseconds', ttl: world.now });
    world.put({ pk: 'ancient', ttl: now - 6 * YEAR_SECONDS });

    expect(world.store.sweepExpired()).toBe(1);
    expect(world.get('passed')).toBeUndefined();
    expect(world.store.scan(TABLE)).toHaveLength(4);
  });

  test('removes the given rows', () => {
    const world = new World();
    world.put({ pk: 'a', ttl: 1, queue: 'q', readyAt: 1 });
    world.put({ pk: 'b', ttl: 1 });

    expect(world.store.sweepExpired((item) => item.pk === 'a')).toBe(1);
    expect(world.store.scan(TABLE)).toEqual([{ pk: 'b', ttl: 1 }]);
    expect(world.ready().Items).toEqual([]);
  });
});

describe('simulatedDriver', () => {
  test('answers like the store, and sends nothing once aborted', async () => {
    const { store } = new World();
    const driver = simulatedDriver(store);
    const put = { TableName: TABLE, Item: { pk: 'a' } };

    await expect(driver.attempt('put', put, AbortSignal.abort())).rejects.toMatchObject({ kind: 'unanswered' });
    expect(store.scan(TABLE)).toEqual([]);
    await expect(driver.attempt('put', put, new AbortController().signal)).resolves.toEqual({});
    await expect(
      driver.attempt('get', { TableName: 'other', Key: { pk: 'a' } }, new AbortController().signal),
    ).rejects.toMatchObject({ kind: 'rejected', code: 'ResourceNotFoundException' });
  });
});
