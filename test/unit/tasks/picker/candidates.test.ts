import { beforeEach, describe, expect, test } from 'vitest';
import { systemIds } from '../../../../shared/core/runtime/ids.ts';
import type { CandidatePorts } from '../../../../shared/tasks/picker/candidates.ts';
import { Candidates } from '../../../../shared/tasks/picker/candidates.ts';
import type { Linked, Waiting } from '../../../../shared/tasks/picker/key-capacity.ts';
import { FULL_KEY, HELD_RECHECK_MS } from '../../../../shared/tasks/picker/tuning.ts';
import type { DynamoDriver, DynamoItem } from '../../../../shared/dynamo/engine/driver.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { childrenBatch } from '../../../../shared/tasks/task/batch.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { ReadyTask } from '../../../../shared/tasks/task/task.ts';
import { FakeClock } from '../../../../shared/testing/fake-clock.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

describe('tasks that found their key full', () => {
  let clock: FakeClock;
  let candidates: Candidates;

  beforeEach(() => {
    clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
    const runtime = { clock, random: { next: () => 0.5 }, ids: systemIds };
    // This test reads nothing.
    candidates = new Candidates({ session: 'mine', queue: 'q', maxClockSkewMs: 0, heartbeatMs: 1_000, part: 1 }, {
      runtime,
    } as unknown as CandidatePorts);
  });

  const taskOf = (id: string, key: string): Waiting => ({
    readyAt: 0,
    queue: 'q',
    id,
    links: { concurrency: { key, limit: 1, rate: undefined } },
  });
  const isWorthReading = ({ queue, id }: Linked) => candidates.isWorthReading({ queue, id });

  const calledBack = () => candidates.places.callBack(taskOf('ended', 'k')).map(({ id }) => id);

  test('are called back once each, the first few of many, when a task of the key ends', () => {
    const ids = Array.from({ length: FULL_KEY.ahead + 2 }, (_, at) => `k${at}`);
    candidates.postpone(taskOf('c', 'other'));
    for (const id of ids) candidates.postpone(taskOf(id, 'k'));
    expect(isWorthReading(taskOf('k0', 'k'))).toBe(false);

    expect([calledBack(), calledBack(), calledBack()]).toEqual([
      ids.slice(0, FULL_KEY.ahead),
      ids.slice(FULL_KEY.ahead),
      [],
    ]);
  });

  test('are called back after a while, however many others have joined them', async () => {
    candidates.postpone(taskOf('first', 'k'));
    for (let n = 0; n < 5; n++) {
      await clock.advance(HELD_RECHECK_MS / 4);
      candidates.postpone(taskOf(`later ${n}`, 'k'));
    }

    expect(candidates.places.callBackInTurn().map(({ id }) => id)).toContain('first');
  });

  const K = { key: 'k', limit: 1, rate: undefined };
  const seeFull = (enteredAt: number | undefined) => {
    candidates.places.seeFull(
      { queue: 'q', id: '', links: { concurrency: K } },
      { until: undefined, running: 1, enteredAt },
    );
  };

  test('keep no worker for long if the clock of the worker that runs the key is ahead', async () => {
    seeFull(clock.now() + 3_600_000);
    await clock.advance(HELD_RECHECK_MS);

    expect(candidates.places.areExpecting).toBe(false);
  });

  test('are looked at although it is unknown when the key was last entered', async () => {
    for (let second = 0; second < 10; second++) {
      if (!candidates.places.isFull(K)) seeFull(undefined);
      candidates.forgetHeld();
      await clock.advance(1_000);
    }

    seeFull(undefined);
    expect(candidates.places.runners.look('normal 0', { end: 'k~' }, K, 0).left).toBeGreaterThan(0);
  });

  test('have the row of their key read again if they were not met for long, whatever its rate', async () => {
    const untilNextWindow = { until: clock.now() + 3_600_000, running: 1, enteredAt: clock.now() };
    candidates.places.seeFull({ queue: 'q', id: '', links: { concurrency: K } }, untilNextWindow);

    await clock.advance(120_000);
    candidates.forgetHeld();

    // Otherwise they would be skipped until the next window, and no crashed worker's task found among them.
    expect(candidates.places.isFull(K)).toBe(false);
  });

  const rowOf = (id: string) => taskOf(id, 'k') as ReadyTask;

  test('get the next slot that is freed here, in order and once each', () => {
    for (const id of ['a', 'b']) candidates.postponeBriefly(rowOf(id));
    const next = () => candidates.nextOfKey(taskOf('ended', 'k')).map(({ task }) => task.id);

    expect(candidates.nextOfKey(taskOf('ended', 'other'))).toEqual([]);
    expect([next(), next(), next()]).toEqual([['a'], ['b'], []]);
    candidates.postponeBriefly(rowOf('a'));
    expect(next()).toEqual([]);
    candidates.putBack(rowOf('a'));
    candidates.postponeBriefly(rowOf('a'));
    expect(next()).toEqual(['a']);
  });

  test('do not get the next slot when their rows may have changed', async () => {
    candidates.postponeBriefly(rowOf('a'));
    await clock.advance(501);

    expect(candidates.nextOfKey(taskOf('ended', 'k'))).toEqual([]);
  });

  test('are forgotten when their time is over', async () => {
    candidates.postpone(taskOf('a', 'k'));
    await clock.advance(5_000);
    candidates.forgetHeld();

    expect(calledBack()).toEqual([]);
  });
});

describe('a task whose entry in the index is older than its row', () => {
  const NAME = { queue: 'q', id: 'p' };
  const CHILD: Linked = { queue: 'q', id: 'c', links: { batch: childrenBatch({ id: 'p', leaseCounter: 3 }) } };
  let asleepUntil: number;
  let whileReading: () => void;
  let candidates: Candidates;

  beforeEach(() => {
    const clock = new FakeClock(new Date('2026-01-01T00:00:00Z'));
    asleepUntil = Infinity;
    whileReading = () => undefined;
    const rowOf = () => ({ ...NAME, state: 'ready', readyAt: asleepUntil }) as unknown as ReadyTask;
    const getMany = () => {
      const rows = [rowOf()];
      whileReading();
      return Promise.resolve(rows);
    };
    const ports = { runtime: { clock, random: { next: () => 0.5 }, ids: systemIds }, tasks: { getMany } };
    candidates = new Candidates(
      { session: 'mine', queue: 'q', maxClockSkewMs: 0, heartbeatMs: 1_000, part: 1 },
      ports as unknown as CandidatePorts,
    );
  });

  test('is skipped for a while, unless a child that it waits for has ended here', async () => {
    expect((await candidates.choose([NAME])).found).toEqual([]);
    expect(candidates.isWorthReading(NAME)).toBe(false);

    candidates.ended(CHILD);
    asleepUntil = 0;

    expect((await candidates.choose([NAME])).found.map(({ task }) => task.id)).toEqual(['p']);
  });

  test('is not skipped when a child ended while its row was read', async () => {
    whileReading = () => candidates.ended(CHILD);

    expect((await candidates.choose([NAME])).found).toEqual([]);

    expect(candidates.isWorthReading(NAME)).toBe(true);
  });
});

test('runs the parent that its last child woke before the worker exits, although the index lags', async () => {
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
