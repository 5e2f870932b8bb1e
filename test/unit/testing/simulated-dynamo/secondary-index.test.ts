import { describe, expect, test } from 'vitest';
import { TABLE, World } from './world.ts';

describe('an index', () => {
  test('holds items that have its keys, in their order, with equal keys told apart', () => {
    const world = new World();
    world.put({ pk: 'late', queue: 'q', readyAt: 10 });
    world.put({ pk: 'b', queue: 'q', readyAt: 2 });
    world.put({ pk: 'a', queue: 'q', readyAt: 2 });
    world.put({ pk: 'without', queue: 'q' });
    world.put({ pk: 'elsewhere', queue: 'r', readyAt: 1 });

    const first = world.ready({ Limit: 2 });
    const second = world.ready({ Limit: 2, ExclusiveStartKey: first.LastEvaluatedKey });

    expect(first.Items?.map(({ pk }) => pk as string)).toEqual(['a', 'b']);
    expect(first.LastEvaluatedKey).toEqual({ pk: 'b', queue: 'q', readyAt: 2 });
    expect(second).toMatchObject({ Items: [{ pk: 'late' }], Count: 1, ScannedCount: 1 });
    expect(second.LastEvaluatedKey).toBeUndefined();
  });

  test('follows an item that moves, leaves and comes back', () => {
    const world = new World();
    const keys = () => world.ready().Items;
    world.put({ pk: 'a', queue: 'q', readyAt: 1, other: 1 });
    world.put({ pk: 'a', queue: 'q', readyAt: 2, other: 2 });
    expect(keys()).toEqual([{ pk: 'a', queue: 'q', readyAt: 2 }]);

    world.put({ pk: 'a', other: 3 });
    expect(keys()).toEqual([]);

    world.put({ pk: 'a', queue: 'q', readyAt: 3 });
    world.store.apply('delete', { TableName: TABLE, Key: { pk: 'a' } });
    expect(keys()).toEqual([]);
  });

  test('refuses consistent reads, and attributes that it does not project', () => {
    const world = new World();

    expect(() => world.ready({ ConsistentRead: true })).toThrow('Consistent reads are not supported');
    expect(() => world.ready({ ProjectionExpression: 'note' })).toThrow('does not project [note]');
    expect(() => world.ready({ Select: 'ALL_ATTRIBUTES' })).toThrow('projection type is not ALL');
  });
});

describe('stale reads', () => {
  test('show an index as it was, and the table as it is', () => {
    let lagMs = 500;
    const world = new World({ indexLagMs: () => lagMs });
    world.put({ pk: 'old', queue: 'q', readyAt: 1 });
    world.now += 1_000;
    world.store.apply('delete', { TableName: TABLE, Key: { pk: 'old' } });
    world.put({ pk: 'new', queue: 'q', readyAt: 2 });
    world.put({ pk: 'new', queue: 'q', readyAt: 3 });

    expect(world.ready().Items).toEqual([{ pk: 'old', queue: 'q', readyAt: 1 }]);
    expect(world.get('old')).toBeUndefined();
    lagMs = 0;
    expect(world.ready().Items).toEqual([{ pk: 'new', queue: 'q', readyAt: 3 }]);
  });

  test('may show one item late and another not', () => {
    const world = new World({ indexLagMs: ({ key }) => (key.pk === 'slow' ? 1_000 : 0) });
    world.put({ pk: 'slow', queue: 'q', readyAt: 1 });
    world.put({ pk: 'fast', queue: 'q', readyAt: 2 });

    expect(world.ready().Items).toEqual([{ pk: 'fast', queue: 'q', readyAt: 2 }]);
  });

  test('concern eventually consistent gets, and no others', () => {
    const world = new World({ readLagMs: () => 500 });
    world.put({ pk: 'a', n: 1 });
    world.now += 1_000;
    world.put({ pk: 'a', n: 2 });
    world.now += 100;
    world.put({ pk: 'a', n: 3 });

    expect(world.get('a', {})).toEqual({ pk: 'a', n: 1 });
    expect(world.get('a')).toEqual({ pk: 'a', n: 3 });
    world.now += 450;
    expect(world.get('a', {})).toEqual({ pk: 'a', n: 2 });
  });
});
