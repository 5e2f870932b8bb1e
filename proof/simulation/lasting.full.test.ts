/** Runs a few histories of each special world: no other tier draws them. `npm run simulate -- --profile NAME` runs more. */
import { expect, test } from 'vitest';
import { LASTING } from './profile.ts';
import { runMany } from './run-many.ts';
import { runSeed } from './run-seed.ts';

const HISTORIES = { hour: 2, stays: 6, row: 4, backlog: 3, flood: 10, fanout: 10, keys: 3 };

test.each(LASTING)('the protocol holds in the world %s', { timeout: 600_000 }, async (profile) => {
  const tally = await runMany({ histories: HISTORIES[profile], minutes: Infinity, from: 1n, profile });

  expect(
    tally.failures.map(({ seed, violation }) => `seed ${seed}: ${violation.invariant} ${violation.message}`),
  ).toEqual([]);
  expect(tally.total.histories).toBe(HISTORIES[profile]);
});

test('a task that ended while its worker read its row again was begun once more', { timeout: 600_000 }, async () => {
  const { violations } = await runSeed(5n, 'fanout', { changes: { focusEveryMs: 0, herdEveryMs: 0, faultyMs: 5_000 } });

  expect(violations.map(({ invariant, message }) => `${invariant} ${message}`)).toEqual([]);
});

test.each([
  ['a task that snoozes was claimed by each tick, and judged as if nobody had', 7_000_597n],
  ['two calls of one person that ended one tenure by force were both told that they had', 7_000_662n],
])('the protocol holds in an hour where it once did not: %s', { timeout: 600_000 }, async (_what, seed) => {
  const { violations } = await runSeed(seed, 'hour');

  expect(violations.map(({ invariant, message }) => `${invariant} ${message}`)).toEqual([]);
});

test.each([
  ['workers of one shard without slices lost more than a third of their claims', 'backlog', 507n],
  ["the same happened in a tenant's backlog", 'backlog', 505n],
  ['long-lived workers lost more claims than they won', 'stays', 12n],
  ['the lock-delay of a dead session counted as lateness', 'stays', 31n],
] as const)(
  'tasks are picked in time, and by one worker, where once: %s',
  { timeout: 600_000 },
  async (_what, profile, seed) => {
    const { violations } = await runSeed(seed, profile);

    expect(violations.map(({ invariant, message }) => `${invariant} ${message}`)).toEqual([]);
  },
);

test('a last attempt shared each worker with tasks that take longer than the worker lives', async () => {
  const { violations } = await runSeed(9_300n, 'flood');

  expect(violations.map(({ invariant, message }) => `${invariant} ${message}`)).toEqual([]);
});
