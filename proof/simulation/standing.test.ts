/** Stalls are noticed, and slow progress is not. */
import { expect, test } from 'vitest';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import { Prng } from '../../test/support/machines/prng.ts';
import type { SimulatedProcess } from '../../test/support/machines/process.ts';
import type { Ask } from './asks.ts';
import { Asks } from './asks.ts';
import { SAMPLE_EVERY_MS } from './bounds.ts';
import type { RightName } from './history.ts';
import { EPOCH_MS } from './invariants/sessions.ts';
import type { Profile } from './profile.ts';
import { drawProfile } from './draw-profile.ts';
import { Standing } from './standing.ts';

interface Scene {
  readonly rows: Readonly<Record<string, DynamoItem>>;
  readonly believers?: readonly RightName[];
  readonly asks?: readonly Omit<Ask, 'since' | 'process'>[];
  /** Seconds for which nothing changes, or all but the claims. */
  readonly seconds?: number;
  /** Each sample finds newly claimed tasks. */
  readonly isClaimedAnew?: boolean;
  readonly profile?: Partial<Profile>;
}

const ALIVE = { name: 'w1.1', isAlive: true } as unknown as SimulatedProcess;
const PROFILE = { ...drawProfile(new Prng(1n), 'calm'), ttlMs: 3_000, concurrency: 2, lockDelayMs: 0, chains: false };
const HOLDER = { id: 's', name: 'user', status: 'live', expiresAt: EPOCH_MS + 1e9, lockDelayMs: 0 };
const DEAD = { ...HOLDER, status: 'invalid', expiresAt: EPOCH_MS, invalidatedAt: EPOCH_MS };
const WORKER = { ...HOLDER, name: 'worker' };
const DUE = { id: 'a', queue: 'jobs', name: 'quick', state: 'ready', readyAt: EPOCH_MS };
const RUNNING = { ...DUE, state: 'running', session: 's', leaseCounter: 7 };

function violationsOf({
  rows,
  believers = [],
  asks = [],
  seconds = 300,
  isClaimedAnew,
  profile,
}: Scene): readonly string[] {
  const time = { now: 0 };
  const all = new Map(Object.entries(rows));
  const found = new Set<string>();
  const registry = new Asks(() => time.now);
  for (const ask of asks) registry.begin({ ...ask, process: ALIVE });
  const standing = new Standing(
    { ...PROFILE, ...profile },
    {
      recorder: {
        rows: all,
        believers,
        takenByCopies: new Set<string>(),
        askAll: () => undefined,
      },
      asks: registry,
      report: (rule) => void found.add(rule),
      measure: () => undefined,
      now: () => time.now,
    },
  );
  standing.healed();
  for (; time.now < seconds * 1_000; time.now += SAMPLE_EVERY_MS) {
    standing.sample();
    if (isClaimedAnew !== true) continue;
    for (const [row, item] of all) all.set(row, { ...item, leaseCounter: Number(item.leaseCounter) + 1 });
  }
  return [...found];
}

test.each([
  ['a due task while a worker has a free place', { 'task#jobs#a': DUE, 'session#s': WORKER }],
  ['a due task while there is no worker', { 'task#jobs#a': DUE }],
  ['a task whose worker is dead', { 'task#jobs#a': RUNNING, 'session#s': { ...DEAD, name: 'worker' } }],
  ['a task of a key that has room', { 'task#jobs#a': { ...DUE, key: { key: 'k', limit: 1 } }, 'session#s': WORKER }],
])('L10 notices %s', (_what, rows) => {
  expect(violationsOf({ rows })).toContain('L10');
  expect(violationsOf({ rows, seconds: 60 })).not.toContain('L10');
});

test('L10 notices a task that workers do not find by their polls, where nothing else does', () => {
  const profile = { feedsLater: true, shards: 4, tickMs: 3_000 };
  const rows = { 'task#jobs#a': DUE, 'session#s': WORKER };

  expect(violationsOf({ rows, seconds: 25, profile })).toEqual(['L10']);
  expect(violationsOf({ rows, seconds: 15, profile })).toEqual([]);
});

test.each([
  ['is not due', { ...DUE, readyAt: EPOCH_MS + 1e9 }],
  ['stands in a line', { ...DUE, line: 'k', ticket: 2 }],
  ['is of a key that is full', { ...DUE, key: { key: 'k', limit: 1 } }],
])('L10 accuses no worker for a task that %s', (_what, task) => {
  const rows = { 'task#jobs#a': task, 'session#s': WORKER, 'key#jobs#k': { running: 1 } };

  expect(violationsOf({ rows })).toEqual([]);
});

test('L10 accuses no worker for a task behind others, while all places are taken', () => {
  const right = { row: 'task#jobs#b', token: 7, session: 's' };
  const rows = {
    'task#jobs#a': DUE,
    'session#s': WORKER,
    'task#jobs#b': { ...RUNNING, id: 'b' },
    'task#jobs#c': { ...RUNNING, id: 'c' },
  };

  expect(violationsOf({ rows, believers: [right, { ...right, row: 'task#jobs#c' }] })).toEqual([]);
});

test('L10 lets the last attempt of a task whose worker crashed wait for a worker that runs nothing', () => {
  const right = { row: 'task#jobs#b', token: 7, session: 's' };
  const rows = { 'session#s': WORKER, 'session#dead': { ...DEAD, id: 'dead', name: 'worker' } };
  const left = (attempts: number) => ({ ...RUNNING, name: 'poison', session: 'dead', attempts, deaths: attempts - 1 });
  const other = { 'task#jobs#b': { ...RUNNING, id: 'b' } };

  expect(violationsOf({ rows: { ...rows, ...other, 'task#jobs#a': left(1) }, believers: [right] })).toEqual([]);
  expect(violationsOf({ rows: { ...rows, 'task#jobs#a': left(1) } })).toEqual(['L10']);
  // Beyond its last attempt it is only marked dead.
  expect(violationsOf({ rows: { ...rows, ...other, 'task#jobs#a': left(2) }, believers: [right] })).toEqual(['L10']);
});

test('L10 waits for a worker that died to lose its permit, where workers need one', () => {
  const scene = { rows: { 'task#jobs#a': DUE, 'session#s': WORKER }, profile: { chains: true } };
  const alive = { row: 'session#s', token: 0, session: 's' };

  expect(violationsOf(scene)).toEqual([]);
  expect(violationsOf({ ...scene, believers: [alive] })).toEqual(['L10']);
  const another = { ...scene.rows, 'session#dead': { ...WORKER, id: 'dead' } };
  expect(violationsOf({ ...scene, rows: another, believers: [alive] })).toEqual(['L10']);
  expect(violationsOf({ ...scene, rows: { ...scene.rows, 'session#s': { ...DEAD, name: 'worker' } } })).toEqual([
    'L10',
  ]);
});

test('reports by L11 a task of a live session whose code does not run', () => {
  const rows = { 'task#jobs#a': RUNNING, 'session#s': WORKER };

  expect(violationsOf({ rows })).toEqual(['L11']);
  expect(violationsOf({ rows, believers: [{ row: 'task#jobs#a', token: 7, session: 's' }] })).toEqual([]);
});

test('L11 tells the claims of a poisonous task apart', () => {
  const rows = { 'task#jobs#a': RUNNING, 'session#s': WORKER };

  expect(violationsOf({ rows, isClaimedAnew: true })).toEqual([]);
});

test.each([
  ['lock', 'lock#k', { session: 's', leaseCounter: 7 }],
  ['permit', 'semaphore#x', { limit: 1, holders: { 's/1': 7 } }],
])('L12 notices a %s that a live session holds without knowing', (_what, row, item) => {
  const rows = { [row]: item, 'session#s': HOLDER };

  expect(violationsOf({ rows })).toEqual(['L12']);
  expect(violationsOf({ rows, believers: [{ row, token: 7, session: 's' }] })).toEqual([]);
  expect(violationsOf({ rows: { ...rows, 'session#s': DEAD } })).toEqual([]);
});

test.each([
  ['a lock that is free', 'lock#k', { leaseCounter: 7 }],
  ['a lock of a dead session', 'lock#k', { session: 's', leaseCounter: 7 }],
  ['a permit for which there is room', 'semaphore#x', { limit: 2, holders: { 't/1': 7 } }],
  ['a permit whose holder is dead', 'semaphore#x', { limit: 1, holders: { 's/1': 7 } }],
])('L13 notices a caller who waits for %s', (_what, row, item) => {
  const kind = row.startsWith('lock') ? 'lock' : 'permit';
  const rows = { [row]: item, 'session#s': DEAD, 'session#t': { ...HOLDER, id: 't', name: 'other' } };

  const waiting = { rows, asks: [{ kind, row, session: 'u', permits: 1, fair: false } as const] };

  expect(violationsOf(waiting)).toEqual(['L13']);
  expect(violationsOf({ ...waiting, asks: [] })).toEqual([]);
});

test('L13 lets a caller who queues wait for the one in front', () => {
  const row = 'semaphore#x';
  const ask = { kind: 'permit', row, permits: 2, fair: true } as const;
  const rows = { [row]: { limit: 2, holders: { 't/1': 7 } }, 'session#t': { ...HOLDER, id: 't', name: 'other' } };

  expect(
    violationsOf({
      rows,
      asks: [
        { ...ask, session: 'u' },
        { ...ask, session: 'v', permits: 1 },
      ],
    }),
  ).toEqual([]);
});

test('L14 notices a place in a queue without a caller', () => {
  const row = 'semaphore#x';
  const rows = { [row]: { limit: 1, holders: {}, waiting: ['u/1@zz'] } };
  const ask = { kind: 'permit', row, permits: 1, fair: true, session: 'u' } as const;
  const alive = { ...rows, 'session#u': { ...HOLDER, id: 'u' } };

  expect(violationsOf({ rows: alive })).toEqual(['L14']);
  expect(violationsOf({ rows })).toEqual([]);
  expect(violationsOf({ rows, asks: [ask], seconds: 10 })).toEqual([]);
});

test('L15 notices a row that has grown', () => {
  const revoked = (count: number) => Array.from({ length: count }, (_, index) => `lock/some-key/${index}`);

  expect(violationsOf({ rows: { 'session#s': { ...HOLDER, revoked: revoked(300) } } })).toEqual(['L15']);
  expect(violationsOf({ rows: { 'session#s': { ...HOLDER, revoked: revoked(10) } } })).toEqual([]);
});
