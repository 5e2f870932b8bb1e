import { describe, expect, test } from 'vitest';
import type { Demand, SampleFacts } from '../../../../shared/tasks/dispatch/demand.ts';
import { demandOf, servable, spread } from '../../../../shared/tasks/dispatch/demand.ts';
import { IDLE_KEY } from '../../../../shared/tasks/task/key-limit.ts';
import type { TaskRecord } from '../../../../shared/tasks/task/task.ts';

const NOW = 1_000_000;
const HOUR_MS = 3_600_000;
const FACTS: SampleFacts = {
  now: NOW,
  elsewhere: new Set(),
  keys: new Map(),
  turns: new Map(),
  unknownNames: new Set(),
  isPaused: () => false,
};

interface Row {
  readonly state?: TaskRecord['state'];
  readonly session?: string;
  readonly name?: string;
  readonly key?: string;
  readonly limit?: number;
  /** Starts an hour. */
  readonly rate?: number;
  readonly readyAt?: number;
  /** In line `l`. */
  readonly ticket?: number;
  readonly isInLine?: boolean;
}

/** As many rows of one kind. */
function rows(count: number, { key, limit = 1, rate, ticket, ...row }: Row): TaskRecord[] {
  const concurrency = key === undefined ? undefined : { key, limit, rate: rate && { count: rate, perMs: HOUR_MS } };
  const links = { concurrency, line: ticket === undefined ? undefined : { key: 'l', ticket } };
  const made = { state: 'ready', name: 'task', readyAt: NOW, ...row, links };
  return Array.from({ length: count }, () => made as unknown as TaskRecord);
}

function left(demand: Partial<Demand>, sample: readonly TaskRecord[], facts: Partial<SampleFacts> = {}): Demand {
  const asked = { due: 0, late: 0, tookMs: undefined, ...demand };
  return servable(asked, sample, { ...FACTS, ...facts }, { startWithinMs: 10_000 });
}

describe('servable', () => {
  test('keeps entries without a reason against them', () => {
    const demand = { due: 2_000, late: 7, tookMs: 5, isCutShort: true };

    expect(left(demand, rows(25, {}))).toMatchObject(demand);
    expect(left(demand, [])).toMatchObject(demand);
  });

  test('counts no more late tasks than due ones', () => {
    const sample = [...rows(9, { key: 'k' }), ...rows(1, {})];

    expect(left({ due: 10, late: 10 }, sample)).toMatchObject({ due: 2, late: 2 });
  });

  test('counts a key of many tasks at most at its limit', () => {
    expect(left({ due: 2_000 }, rows(25, { key: 'k' }))).toMatchObject({ due: 1, less: 'keysFull' });
    expect(left({ due: 2_000 }, rows(25, { key: 'k', limit: 50 }))).toMatchObject({ due: 50 });
  });

  test('counts all tasks of keys that differ', () => {
    const sample = Array.from({ length: 25 }, (_, nth) => rows(1, { key: `k${nth}` })).flat();

    expect(left({ due: 2_000 }, sample).due).toBe(2_000);
  });

  describe('a key whose rate is used up', () => {
    const usedUp = { ...IDLE_KEY, window: 0, started: 2 };
    const keys = new Map([['k', usedUp]]);
    const some = rows(10, { key: 'k', limit: 5, rate: 2 });

    test('does not count, alone or with others', () => {
      expect(left({ due: 10 }, some, { keys })).toMatchObject({ due: 0, less: 'keysFull' });
      expect(left({ due: 13 }, [...some, ...rows(3, {})], { keys }).due).toBe(3);
      expect(left({ due: 1 }, rows(1, { key: 'k', rate: 2 }), { keys }).due).toBe(0);
    });

    test('counts as one task if the sample has only a part of the entries, because others may be able to start', () => {
      expect(left({ due: 1_000 }, some, { keys }).due).toBe(1);
    });

    test('counts while one of its tasks runs, because its worker may have crashed', () => {
      expect(left({ due: 10 }, some, { keys: new Map([['k', { ...usedUp, running: 1 }]]) }).due).toBe(5);
    });

    test.each([
      ['once the window is over', { now: NOW + HOUR_MS, keys }],
      ['if its next window begins before a worker has started', { now: HOUR_MS - 10_000, keys }],
      ['while the rate allows a start', { keys: new Map([['k', { ...usedUp, started: 1 }]]) }],
      ['if its row was not read', {}],
    ])('counts %s', (_, facts) => {
      expect(left({ due: 10 }, some, facts).due).toBe(5);
    });
  });

  test('counts tasks without a key next to a full one by their share', () => {
    expect(left({ due: 2_000 }, [...rows(10, { key: 'k' }), ...rows(10, {})]).due).toBe(1_001);
  });

  test('subtracts tasks of live sessions without a permit, also from the late ones', () => {
    const held = rows(25, { state: 'running', session: 'laptop', readyAt: NOW - 60_000 });
    const elsewhere = new Set(['laptop']);

    expect(left({ due: 100, late: 100 }, held, { elsewhere })).toMatchObject({
      due: 0,
      late: 0,
      less: 'heldElsewhere',
    });
    expect(left({ due: 100, late: 100 }, held).due).toBe(100);
  });

  test('keeps one of the tasks whose name no worker knows', () => {
    const unknownNames = new Set(['lost']);

    expect(left({ due: 1_000 }, rows(25, { name: 'lost' }), { unknownNames })).toMatchObject({
      due: 1,
      less: 'namesUnknown',
    });
  });

  test('subtracts entries of ended and delayed tasks', () => {
    const sample = [...rows(5, {}), ...rows(1, { state: 'done' }), ...rows(4, { readyAt: NOW + 1 })];

    expect(left({ due: 100 }, sample)).toMatchObject({ due: 50, less: undefined });
  });

  test('counts a task of a line if its turn has come, also if it was cancelled before', () => {
    const sample = [1, 2, 3].flatMap((ticket) => rows(1, { ticket }));
    const cancelled = rows(1, { ticket: 2, state: 'cancelled', isInLine: true });
    const turns = new Map([['l', 2]]);

    expect(left({ due: 3 }, sample, { turns })).toMatchObject({ due: 2, less: undefined });
    expect(left({ due: 1 }, rows(1, { ticket: 2 }))).toMatchObject({ due: 1 });
    expect(left({ due: 1 }, cancelled, { turns })).toMatchObject({ due: 1 });
    expect(left({ due: 1 }, cancelled, { turns: new Map([['l', 1]]) })).toMatchObject({ due: 0 });
  });

  test('assumes uncounted entries only if enough of the counted tasks can be served', () => {
    const some = [...rows(20, { key: 'k' }), ...rows(5, {})];

    expect(left({ due: 8_000, isCutShort: true }, some).isCutShort).toBe(true);
    expect(left({ due: 8_000, isCutShort: true }, rows(25, { key: 'k' })).isCutShort).toBe(false);
  });
});

test('demandOf adds up partitions', () => {
  const partition = { queue: 'q', priority: 'normal' as const, shard: 0 };
  const backlog = [
    { partition, due: 3, late: 1 },
    { partition, due: 4, late: 0, isCutShort: true },
  ];

  expect(demandOf(backlog, 20)).toEqual({ due: 7, late: 1, isCutShort: true, tookMs: 20 });
});

test('spread takes entries evenly, the oldest first', () => {
  const hints = Array.from({ length: 100 }, (_, nth) => ({ queue: 'q', id: `t${nth}`, readyAt: 100 - nth }));

  expect(spread(hints, 4).map(({ id }) => id)).toEqual(['t99', 't74', 't49', 't24']);
  expect(spread(hints, 200)).toHaveLength(100);
});
