/** The pause of a tenant: whichever way a worker comes to one of its tasks, it claims none; in virtual time. */
import { beforeEach, describe, expect, test } from 'vitest';
import { MAX_PAUSED_TENANTS } from '../../../../shared/tasks/task/queue-store.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { RetryAfter } from '../../../../shared/tasks/task/control.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';
import { Mortal } from '../../../support/mortal.ts';

const SECOND_MS = 1_000;
/** A worker reads the queue's row every 5 s; the sixth second is for a claim. */
const BOUND_MS = 6 * SECOND_MS;
const PAUSED_AT_MS = 2 * SECOND_MS;
const RESUMED_AT_MS = 90 * SECOND_MS;
const ACME = { tenant: 'acme' } as const;

let q: MemoryQueue;
let begun: { readonly id: string; readonly atMs: number }[];
let announce: (ids: readonly string[]) => void;
let openedAt: number;

beforeEach(() => {
  q = openMemoryQueue();
  begun = [];
  announce = () => undefined;
  openedAt = q.clock.monotonic();
});

const now = () => q.clock.monotonic() - openedAt;
const begin = (id: string) => void begun.push({ id, atMs: now() });
const TASKS = {
  quick: defineTask({ name: 'quick', run: (_: unknown, { id }) => begin(id) }),
  long: defineTask({
    name: 'long',
    async run(_: unknown, { id, signal }) {
      begin(id);
      await q.clock.sleep(30 * SECOND_MS, signal);
    },
  }),
  again: defineTask({
    name: 'again',
    run: (_: unknown, task): void => {
      begin(task.id);
      if (task.attempt === 1) throw new RetryAfter('20s', 'later');
    },
  }),
};

/** What is there before the pause, and what comes 10 s after it. Each leaves the task `held`, which may not begin before the end of it. */
const WAYS: Readonly<Record<string, { before?: () => Promise<unknown>; after?: () => Promise<unknown> }>> = {
  'a poll shows it': { after: () => q.client.enqueue('quick', {}, { id: 'held', ...ACME }) },
  'it is announced': {
    async after() {
      await q.client.enqueue('quick', {}, { id: 'held', ...ACME });
      announce(['held']);
    },
  },
  'it becomes due later': { before: () => q.client.enqueue('quick', {}, { id: 'held', delay: '20s', ...ACME }) },
  'it has the next turn of its line': {
    async before() {
      await q.client.enqueue('long', {}, { id: 'first', key: 'k', ordered: true });
      await q.client.enqueue('quick', {}, { id: 'held', key: 'k', ordered: true, ...ACME });
    },
  },
  'it is the next of its key': {
    before: () => q.client.enqueue('long', {}, { id: 'first', key: 'k', limit: 1 }),
    after: () => q.client.enqueue('quick', {}, { id: 'held', key: 'k', limit: 1, ...ACME }),
  },
  'its worker has crashed': {
    async before() {
      const process = new Mortal();
      const dying = async (): Promise<void> => {
        await q.clock.sleep(20 * SECOND_MS);
        await process.kill();
      };
      await q.client.enqueue('quick', {}, { id: 'held', ...ACME });
      void q.start({ quick: defineTask({ name: 'quick', run: dying }) }, { process });
      await q.clock.sleep(SECOND_MS);
    },
  },
  'it has asked to run again later': { before: () => q.client.enqueue('again', {}, { id: 'held', ...ACME }) },
};

describe('while a tenant is paused, its tasks do not begin; afterwards each does', () => {
  test.each(Object.entries(WAYS))('%s', async (_, { before, after }) => {
    const handBack = new AbortController();
    const scenario = async (): Promise<void> => {
      await before?.();
      const working = q.start(TASKS, {
        concurrency: 3,
        asksQueue: true,
        lingerMs: Infinity,
        handBack: handBack.signal,
        onEnqueued(listener) {
          announce = (ids) => listener(ids);
          return () => undefined;
        },
      });
      await q.clock.sleep(PAUSED_AT_MS - now());
      await q.operator.pause(ACME);
      await q.clock.sleep(10 * SECOND_MS);
      await after?.();
      await q.client.enqueue('quick', {}, { id: 'other', tenant: 'beta' });
      await q.clock.sleep(RESUMED_AT_MS - now());
      await q.operator.resume(ACME);
      await q.clock.sleep(30 * SECOND_MS);
      handBack.abort();
      await working;
    };
    await q.clock.runUntil(scenario(), () => true);

    const held = begun.flatMap(({ id, atMs }) => (id === 'held' && atMs > PAUSED_AT_MS + BOUND_MS ? [atMs] : []));
    expect(held).toHaveLength(1);
    expect(held[0]).toBeGreaterThan(RESUMED_AT_MS);
    const other = begun.find(({ id }) => id === 'other');
    expect(other?.atMs).toBeLessThan(PAUSED_AT_MS + 20 * SECOND_MS);
  });
});

test('a busy worker begins the last of its tasks within 6 s', async () => {
  for (let n = 0; n < 400; n++) await q.client.enqueue('short', {}, { id: `t${n}`, ...ACME });
  const short = defineTask({
    name: 'short',
    async run(_: unknown, { id }) {
      begin(id);
      await q.clock.sleep(200);
    },
  });
  const working = q.start({ short }, { concurrency: 4, asksQueue: true });
  const pausing = async (): Promise<unknown> => {
    await q.clock.sleep(PAUSED_AT_MS);
    await q.operator.pause(ACME);
    return working;
  };

  expect(await q.clock.runUntil(pausing(), () => true)).toMatchObject({ ended: 'drained' });
  const last = begun.at(-1)?.atMs ?? 0;
  expect(last).toBeGreaterThan(PAUSED_AT_MS);
  expect(last).toBeLessThanOrEqual(PAUSED_AT_MS + BOUND_MS);
  expect(begun.length).toBeLessThan(400);
});

test('a worker that finds only its tasks is drained at once, after one query more', async () => {
  await q.operator.pause({ tenant: 'nobody' });
  const queries = async (): Promise<number> => {
    const before = q.meter.read().byVerb['task.pageOfGroups']?.requests ?? 0;
    expect(await q.work(TASKS, { asksQueue: true })).toMatchObject({ ended: 'drained', claimed: 0 });
    return (q.meter.read().byVerb['task.pageOfGroups']?.requests ?? 0) - before;
  };
  const idle = await queries();
  for (let n = 0; n < 200; n++) await q.client.enqueue('quick', {}, { id: `t${n}`, key: `k${n}`, limit: 1, ...ACME });
  await q.operator.pause(ACME);

  expect(await queries()).toBeLessThanOrEqual(idle + 1);
});

describe('the operator', () => {
  const paused = async () => [...((await q.operator.resume({ tenant: 'nobody' })).pausedTenants ?? [])].sort();

  test('keeps the tenants when the queue is paused and resumed, and the queue when a tenant is', async () => {
    await q.operator.pause(ACME);
    await q.operator.pause({ tenant: 'beta' });
    expect(await q.operator.pause({ reason: 'an incident' })).toMatchObject({ isPaused: true });
    expect(await q.operator.resume({ tenant: 'beta' })).toMatchObject({ isPaused: true, reason: 'an incident' });
    await q.operator.resume();

    expect(await paused()).toEqual(['acme']);
    await q.operator.resume(ACME);
    expect(await paused()).toEqual([]);
  });

  test('refuses one more than a hundred', async () => {
    for (let n = 0; n < MAX_PAUSED_TENANTS; n++) await q.operator.pause({ tenant: `t${n}` });

    await expect(q.operator.pause(ACME)).rejects.toThrow('100 tenants are paused in this queue, which is the most');
    expect(await paused()).toHaveLength(MAX_PAUSED_TENANTS);
  });
});
