/** What a worker knows of full keys, and when it reads them again. Lines, and parents that were woken, as a worker runs them. */
import { beforeEach, describe, expect, test } from 'vitest';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import type { DynamoDriver, DynamoItem } from '../../../../shared/dynamo/engine/driver.ts';
import { Keys } from '../../../../shared/tasks/picker/waits.ts';
import { FRESH_MS, HELD_RECHECK_MS } from '../../../../shared/tasks/picker/tuning.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { KeyLimit } from '../../../../shared/tasks/task/key-limit.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { GroupEntry } from '../../../../shared/tasks/task/task-store.ts';
import type { ReadyTask, RunningTask } from '../../../../shared/tasks/task/task.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

const HEARTBEAT_MS = 10_000;
const clockOf = () => new FakeClock(new Date('2026-01-01T00:00:00Z'));

describe('a key', () => {
  const K: KeyLimit = { key: 'k', limit: 2, rate: undefined };
  let clock: FakeClock;
  let keys: Keys;

  beforeEach(() => {
    clock = clockOf();
    const state = { running: 2, enteredAt: clock.now(), window: undefined, started: 0 };
    keys = new Keys('q', HEARTBEAT_MS, {
      runtime: { ...systemRuntime, clock },
      onDamaged: () => undefined,
      tasks: { getKeys: () => Promise.resolve(new Map([['k', state]])) } as never,
    });
  });

  const row = (id: string) => ({ queue: 'q', id, state: 'ready', links: { concurrency: K } }) as unknown as ReadyTask;
  const runner = (id: string) => ({ ...row(id), state: 'running', session: `of ${id}` }) as unknown as RunningTask;
  const seeFull = (enteredAt: number | undefined) => keys.seeFull(K, { until: undefined, running: 2, enteredAt });
  const group = (...ids: readonly string[]) =>
    ids.map((id): GroupEntry => {
      const hint = { queue: 'q', id, readyAt: 0, tenant: undefined, limit: K };
      return { hint, place: id, end: '~', tenantEnd: '~' };
    });

  test('has room until it was seen full, and again after a quarter of the time for which nothing changed', async () => {
    expect(keys.hasRoom(K)).toBe(true);
    seeFull(clock.now() - 8_000);
    expect(keys.hasRoom(K)).toBe(false);

    await clock.advance(1_999);
    expect(keys.hasRoom(K)).toBe(false);
    await clock.advance(1);
    expect(keys.hasRoom(K)).toBe(true);
  });

  test('passes a slot that is freed here on to a task whose row was just read, and to the next ones by id', async () => {
    keys.wait(K, row('a'), clock.monotonic() + FRESH_MS);
    for (const id of ['b', 'c', 'd']) keys.wait(K, row(id));

    expect(keys.ended(K)).toMatchObject({ fresh: { id: 'a' }, unread: [] });
    expect(keys.ended(K).unread.map(({ id }) => id)).toEqual(['b', 'c', 'd']);

    keys.wait(K, row('e'), clock.monotonic() + FRESH_MS);
    await clock.advance(FRESH_MS);
    expect(keys.ended(K)).toMatchObject({ unread: [{ id: 'e' }] });
  });

  test.each([
    ['one of its tasks has just ended here', () => void keys.ended(K)],
    ['one has just begun elsewhere, which may be handed back', () => seeFull(clock.now())],
  ])('keeps its worker for a moment when %s', async (_when, happens) => {
    keys.wait(K, row('a'));
    keys.wait(K, row('b'));
    happens();
    keys.wait(K, row('c'));
    expect(keys.areExpecting).toBe(true);

    await clock.advance(2 * HELD_RECHECK_MS);
    expect(keys.areExpecting).toBe(false);
  });

  test.each([
    ['when it was last entered', 0],
    ['when, by a clock that is ahead', 3_600_000],
    ['not when', undefined],
  ])('that is full is looked at deeper the longer it stands still, if it is known %s', async (_known, aheadMs) => {
    const enteredAt = aheadMs === undefined ? undefined : clock.now() + aheadMs;
    seeFull(enteredAt);
    const look = () => keys.visit('normal groups 0', group('a', 'b', 'c'));
    const first = look();
    expect(first).toMatchObject({ isLook: true });
    expect(look()).toEqual({ left: 0 });

    for (let beat = 0; beat < 3; beat++) {
      await clock.advance(HEARTBEAT_MS);
      seeFull(enteredAt);
    }

    expect(look().left).toBeGreaterThan(first.left);
  });

  test('that is full is not looked at once all its runners are known, and again when it has changed', () => {
    const now = clock.now();
    seeFull(now);
    keys.note([runner('a'), runner('b')], () => true);
    expect(keys.visit('normal groups 0', group('a', 'b', 'c'))).toEqual({ left: 0 });
    expect(keys.runners.map(({ id }) => id)).toEqual(['a', 'b']);

    seeFull(now + 1);
    expect(keys.visit('normal groups 0', group('a', 'b', 'c'))).toMatchObject({ isLook: true });
  });

  test('is read before its tasks are, and they are left out if it is full of known runners', async () => {
    keys.note([], () => true);
    seeFull(clock.now());
    keys.note([runner('x'), runner('y')], () => true);
    await clock.advance(FRESH_MS);

    expect(await keys.admit(group('a', 'b').map(({ hint }) => hint))).toEqual([]);
  });
});

test.each([20, 60, 130])(
  'a line of %i short tasks runs whole and in order, and is read for few of them',
  async (count) => {
    let reads = 0;
    const counting = (driver: DynamoDriver): DynamoDriver => ({
      ...driver,
      attempt(verb, input, signal) {
        if (/get$/i.test(verb) && JSON.stringify(input).includes('line#')) reads++;
        return driver.attempt(verb, input, signal);
      },
    });
    const q = openMemoryQueue(counting);
    const order: string[] = [];
    const short = defineTask({ name: 'short', run: (_input: unknown, { id }) => void order.push(id) });
    const ids = Array.from({ length: count }, (_, nth) => `t${nth}`);
    for (const id of ids) await q.client.enqueue(short, {}, { id, key: 'k', ordered: true });
    reads = 0;

    await q.work({ short }, { concurrency: 10 });

    expect(order).toEqual(ids);
    expect(reads).toBeLessThan(ids.length / 2);
  },
);

test('a parent that its last child woke runs before the worker exits, although the index lags', async () => {
  let entry: DynamoItem | undefined;
  // An index that lags: once the parent was in it, it stays.
  const lagging = (driver: DynamoDriver): DynamoDriver => ({
    ...driver,
    async attempt(verb, input, signal) {
      const output = await driver.attempt(verb, input, signal);
      const { Items } = output as { readonly Items?: DynamoItem[] };
      if (verb !== 'query' || Items === undefined) return output;
      const found = Items.find(({ pk }) => String(pk).endsWith('#p'));
      entry ??= found;
      return found !== undefined || entry === undefined ? output : { ...output, Items: [...Items, entry] };
    },
  });
  const q = openMemoryQueue(lagging);
  const child = defineTask({ name: 'child', run: () => undefined });
  const parent = defineTask({
    name: 'parent',
    run: (_input: unknown, task: TaskContext) =>
      task.children === undefined ? task.waitFor([spawn(child, {})]) : Promise.resolve(undefined),
  });
  await q.client.enqueue(parent, {}, { id: 'p' });

  expect(await q.work({ parent, child }, { concurrency: 2 })).toMatchObject({ ended: 'drained', claimed: 3 });
  expect(await q.client.get('p')).toMatchObject({ state: 'done' });
});
