/** The console's reads without a page: which are shared, when they are repeated, and what stays in a list. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { describe, expect, test } from 'vitest';
import { taskKey } from '../../../shared/dynamo/engine/keys.ts';
import { encodeMap } from '../../../shared/dynamo/wire/attribute-value.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';
import { simulatedWorld } from '../../../test/support/coordination.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ConsoleConnection } from '../../server/connection.ts';
import type { News } from '../../server/feed.ts';
import { Feed } from '../../server/feed.ts';
import { SharedReads } from '../../server/shared-reads.ts';
import { DeadReader } from '../../server/views/dead.ts';
import { KnownNames } from '../../server/views/known-names.ts';
import type { OverviewReader } from '../../server/views/overview.ts';
import { scanFinished } from '../../server/views/scan.ts';

const STARTS_AT = '2026-11-27T00:00:00Z';
const QUEUE = 'jobs';
const PACE = { everyMs: 1_000, unitsPerSecond: 10 };

describe('an answer that viewers share', () => {
  const open = () => {
    const clock = new ManualClock(STARTS_AT);
    return { clock, reads: new SharedReads(clock, PACE) };
  };
  /** A question whose answers are counted from 1. */
  const counting = (units: number) => {
    let asked = 0;
    return () => Promise.resolve({ value: ++asked, units });
  };

  test.each([
    ['a cheap one for half a poll', 0, 500],
    ['an expensive one for as long as its units pay for', 40, 4_000],
  ])('is used again: %s', async (_what, units, forMs) => {
    const { clock, reads } = open();
    const look = counting(units);
    await reads.ask('what', look);

    await clock.advance(forMs - 1);
    expect(await reads.ask('what', look)).toBe(1);
    await clock.advance(1);
    expect(await reads.ask('what', look)).toBe(2);
  });

  test('is one read for all who ask while it is under way', async () => {
    const { reads } = open();
    const look = counting(0);

    expect(await Promise.all([reads.ask('what', look), reads.ask('what', look), reads.ask('else', look)])).toEqual([
      1, 1, 2,
    ]);
  });

  test('is asked again after a failure, and after an act', async () => {
    const { reads } = open();
    await expect(reads.ask('what', () => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');

    const look = counting(40);
    expect(await reads.ask('what', look)).toBe(1);
    reads.forget();
    expect(await reads.ask('what', look)).toBe(2);
  });

  test('is forgotten behind a hundred others', async () => {
    const { reads } = open();
    const look = counting(40);
    await reads.ask('what', look);
    for (let other = 0; other < 100; other++) await reads.ask(`other ${other}`, counting(40));

    expect(await reads.ask('what', look)).toBe(2);
  });
});

describe('the feed of an open page', () => {
  const open = (look: () => Promise<number>) => {
    const clock = new ManualClock(STARTS_AT);
    let looks = 0;
    const read = {
      read: () => {
        looks++;
        return look();
      },
      overview: () => looks,
    };
    const feed = new Feed(read as unknown as OverviewReader, { runtime: { ...systemRuntime, clock }, ...PACE });
    return { clock, feed, looks: () => looks };
  };
  const heard = () => {
    const news: News[] = [];
    return { news, viewer: (one: News) => void news.push(one) };
  };

  test('shows a second viewer the last poll at once', async () => {
    const { clock, feed } = open(() => Promise.resolve(0));
    feed.join(heard().viewer);
    await clock.advance(0);

    const second = heard();
    feed.join(second.viewer);

    expect(second.news).toEqual([{ kind: 'overview', overview: 1, nextInMs: 1_000 }]);
    await feed.close();
  });

  test('pauses for as long as its units pay for, and hurries after an act', async () => {
    const { clock, feed, looks } = open(() => Promise.resolve(50));
    const { news, viewer } = heard();
    feed.join(viewer);
    await clock.advance(4_999);
    expect(looks()).toBe(1);
    expect(news).toMatchObject([{ nextInMs: 5_000 }]);

    feed.hurry();
    await clock.advance(0);
    expect(looks()).toBe(2);
    await feed.close();
  });

  test('ends with its last viewer; the next one hears nothing of a poll that was under way', async () => {
    const answer = Promise.withResolvers<number>();
    const { clock, feed, looks } = open(() => answer.promise);
    const { news, viewer } = heard();
    feed.join(viewer)();
    expect(feed.isRunning).toBe(false);

    const next = heard();
    const leave = feed.join(next.viewer);
    answer.resolve(0);
    await clock.advance(0);
    leave();
    await clock.advance(10_000);

    expect(looks()).toBe(2);
    expect(next.news).toHaveLength(1);
    expect(news).toEqual([]);
  });

  test('tells a failure, and polls on', async () => {
    let fails = true;
    const { clock, feed } = open(() => (fails ? Promise.reject(new Error('no answer')) : Promise.resolve(0)));
    const { news, viewer } = heard();
    feed.join(viewer);
    await clock.advance(0);
    fails = false;
    await clock.advance(1_000);

    expect(news).toMatchObject([{ kind: 'failure', message: 'no answer' }, { kind: 'overview' }]);
    await feed.close();
  });
});

test('closing a feed waits for its last poll, which still uses the connection', async () => {
  const clock = new ManualClock(STARTS_AT);
  const poll = Promise.withResolvers<number>();
  const read = { read: () => poll.promise, overview: () => 0 } as unknown as OverviewReader;
  const feed = new Feed(read, { runtime: { ...systemRuntime, clock }, ...PACE });
  feed.join(() => undefined);
  const order: string[] = [];

  const closing = feed.close().then(() => void order.push('closed'));
  await clock.advance(1_000);
  order.push('answered');
  poll.resolve(0);
  await closing;

  expect(order).toEqual(['answered', 'closed']);
});

test('shows the units of reads and of scans', () => {
  const options = { table: 't', endpoint: 'http://127.0.0.1:1', shards: 1, maxClockSkewMs: 0, queues: [], by: 'ann' };
  using connection = new ConsoleConnection({ ...options, isReadOnly: true }, systemRuntime);
  connection.spend(4);
  connection.spend(1.5);

  expect(connection.readUnits()).toBe(5.5);
});

describe('the list of dead tasks', () => {
  /** A queue whose dead tasks the test changes; a page of the list has two entries, and a row costs half a unit. */
  function open() {
    const dead = new Map<string, { readonly diedAt: number; readonly message: string }>();
    let spent = 0;
    const read: string[] = [];
    const stores = () => ({
      operatorStore: {
        pageOfDead: (_queue: string, after = 0) => {
          const ids = [...dead.keys()];
          const keys = ids.slice(after, after + 2).map((id) => ({ queue: QUEUE, id, diedAt: dead.get(id)?.diedAt }));
          return Promise.resolve({ keys, next: after + 2 < ids.length ? after + 2 : undefined });
        },
      },
      tasks: {
        getMany: (keys: readonly { readonly id: string }[]) => {
          read.push(...keys.map(({ id }) => id));
          spent += keys.length / 2;
          return Promise.resolve(
            keys.flatMap(({ id }) => {
              const found = dead.get(id);
              if (found === undefined) return [];
              const lastError = { name: 'Error', message: found.message };
              return [{ queue: QUEUE, id, name: 'mail', state: 'dead', finishedAt: found.diedAt, lastError }];
            }),
          );
        },
      },
      spent: () => spent,
    });
    const connection = { open: stores, now: () => 0 } as unknown as ConsoleConnection;
    const listed = new DeadReader(connection, new KnownNames());
    const groups = async (fault?: string) => {
      spent = 0;
      const { value } = await listed.read({ queue: QUEUE, name: '', id: '', fault, isWhole: false });
      return value.groups.map((group) => ({ fault: group.fault, count: group.count, shown: group.tasks.length }));
    };
    const die = (id: string, diedAt: number, message = 'no route'): void => void dead.set(id, { diedAt, message });
    return { dead, read, listed, groups, die };
  }

  test('loses a task that was retried, and moves one that died again of something else', async () => {
    const { dead, groups, die } = open();
    for (const id of ['a', 'b', 'c']) die(id, 1);
    expect(await groups()).toMatchObject([{ count: 3 }]);

    dead.delete('a');
    die('b', 2, 'refused');

    expect(await groups()).toMatchObject([
      { fault: expect.stringContaining('refused') as unknown, count: 1 },
      { fault: expect.stringContaining('no route') as unknown, count: 1 },
    ]);
  });

  test('loses a task whose row is no longer dead when it is read', async () => {
    const { dead, listed, die } = open();
    die('a', 1);
    die('b', 2);
    const pages = listed.read({ queue: QUEUE, name: '', id: '', fault: undefined, isWhole: false });
    dead.delete('a');

    const { value } = await pages;

    expect(value).toMatchObject({ groups: [{ count: 1 }], read: 1, unitsLeft: 0 });
    expect(value.listed.count).toBe(1);
  });

  test('reads the latest first, and continues with the next poll', async () => {
    const { read, groups, die } = open();
    for (let at = 1; at <= 60; at++) die(`t${at}`, at);

    expect(await groups()).toMatchObject([{ count: 40 }]);
    expect(read.slice(0, 20)).toEqual(Array.from({ length: 20 }, (_, at) => `t${60 - at}`));
    expect(await groups()).toMatchObject([{ count: 60 }]);
  });

  test('shows twenty tasks of a fault, and more on request', async () => {
    const { groups, die } = open();
    for (let at = 1; at <= 30; at++) die(`t${at}`, at);
    const [{ fault } = { fault: '' }] = await groups();

    expect(await groups()).toMatchObject([{ count: 30, shown: 20 }]);
    expect(await groups(fault)).toMatchObject([{ count: 30, shown: 30 }]);
  });
});

test('a scan shows the hundred selected tasks that ended last', async () => {
  const world = simulatedWorld();
  const { leasehold } = world.start();
  const items: unknown[] = [];
  for (let n = 0; n < 130; n++) {
    const id = `${n % 13 === 0 ? 'other' : 't'}-${(n * 37) % 130}`;
    await leasehold.tasks.enqueue(n === 5 ? 'another' : 'mail', null, { id, queue: QUEUE });
    await world.clock.advance(1);
    await leasehold.operator.cancel(id, { queue: QUEUE });
    items.push(encodeMap((await world.row(taskKey(QUEUE, id))) ?? {}, (bytes) => bytes));
  }
  const noted: string[] = [];
  let spent = 0;
  const connection = {
    openClient: () => {
      const client = new DynamoDBClient({ region: 'r', credentials: { accessKeyId: 'a', secretAccessKey: 's' } });
      return Promise.resolve(
        Object.assign(client, {
          send: () => Promise.resolve({ Items: [...items.toReversed(), {}], ConsumedCapacity: { CapacityUnits: 2.5 } }),
        }),
      );
    },
    options: { table: 'leasehold' },
    spend: (units: number) => void (spent += units),
    now: () => 7,
  } as unknown as ConsoleConnection;
  const names = {
    note: (tasks: Iterable<{ readonly name: string }>) => void noted.push(...[...tasks].map(({ name }) => name)),
  };
  const look = (given: object) =>
    scanFinished(connection, names as unknown as KnownNames, {
      queue: QUEUE,
      name: 'm',
      id: 't-',
      outcome: 'cancelled',
      maxReadUnits: 10,
      ...given,
    });

  const { value, units } = await look({});
  expect(value.tasks.map(({ id }) => id)).toEqual(
    Array.from({ length: 130 }, (_, n) => ({ n, id: `t-${(n * 37) % 130}` }))
      .filter(({ n }) => n % 13 !== 0 && n !== 5)
      .map(({ id }) => id)
      .toReversed()
      .slice(0, 100),
  );
  expect({ ...value, tasks: [] }).toEqual({ now: 7, queue: QUEUE, tasks: [], found: 119, units: 3, isCut: false });
  expect([units, spent, noted.length]).toEqual([2.5, 2.5, 100]);
  expect((await look({ outcome: 'done' })).value).toMatchObject({ tasks: [], found: 0 });
  expect((await look({ name: '', id: '', outcome: undefined })).value).toMatchObject({ found: 130 });
});
