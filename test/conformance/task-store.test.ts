import { beforeEach, describe, expect, test } from 'vitest';
import type { Meter } from '../../shared/dynamo/engine/meter.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createTaskStore } from '../../shared/tasks/rows/task/dynamo-task-store.ts';
import { StoreUnavailableError } from '../../shared/core/errors.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import { FaultyDriver } from '../support/faulty-driver.ts';
import { describeOnStore } from '../support/stores.ts';
import { claimOf, claimed, enqueued, newTask, numbered, stamp } from '../support/tasks.ts';
import { PATIENT } from '../support/patient.ts';

const SHARDS = 1;
const ERROR = { name: 'Error', message: 'boom', at: 1 };

describeOnStore('the task store', (open) => {
  let store: TaskStore;
  let meter: Meter;

  beforeEach(() => {
    const opened = open().openSender();
    meter = opened.meter;
    store = createTaskStore(opened.sender, { table: open().table, shards: SHARDS });
  });

  describe('enqueue', () => {
    test('refuses an id that is taken, and shows by what', async () => {
      const first = await enqueued(store, { input: { n: 1 } });

      const second = await store.enqueue(newTask({ id: first.id, input: { n: 2 } }), stamp());

      expect(second).toMatchObject({ kind: 'refused', current: { input: { n: 1 }, state: 'ready' } });
    });

    test('keeps hostile text and numbers as they are', async () => {
      const input = {
        text: '#pk :now \u0000 𝕏 __proto__',
        list: [1.5, -0.25, 1e300, null, true],
        nested: { constructor: 'x' },
      };

      const { queue, id } = await enqueued(store, { id: 'a#b%23/"', queue: 'odd # % ü', input });

      expect(await store.get({ queue, id })).toMatchObject({ input, id: 'a#b%23/"' });
    });
  });

  describe('claim', () => {
    test('raises the lease counter and the attempts by one', async () => {
      const task = await enqueued(store);

      const outcome = await store.claim(task, 'session-1', stamp());

      expect(outcome).toMatchObject({
        kind: 'applied',
        row: { state: 'running', session: 'session-1', leaseCounter: task.leaseCounter + 1, attempts: 1 },
      });
    });

    test('refuses a task that was claimed since it was observed', async () => {
      const task = await enqueued(store);
      await store.claim(task, 'session-1', stamp());

      const outcome = await store.claim(task, 'session-2', stamp());

      expect(outcome).toMatchObject({ kind: 'refused', current: { session: 'session-1' }, earlierAttempt: 'none' });
    });

    test('refuses a task that is not yet due', async () => {
      const task = await enqueued(store, { runAt: systemRuntime.clock.now() + 60_000 });

      expect((await store.claim(task, 'session-1', stamp())).kind).toBe('refused');
    });

    test('refuses an observation from before a release, though the task is ready again', async () => {
      const observed = await enqueued(store);
      const first = await store.claim(observed, 'session-1', stamp());
      if (first.kind === 'applied') await store.release(claimOf(first.row), stamp());

      expect((await store.claim(observed, 'session-2', stamp())).kind).toBe('refused');
    });

    test('is won by exactly one of many', async () => {
      const task = await enqueued(store);

      const outcomes = await Promise.all(
        Array.from({ length: 16 }, (_, n) => store.claim(task, `session-${n}`, stamp())),
      );

      expect(outcomes.filter(({ kind }) => kind === 'applied')).toHaveLength(1);
    });
  });

  describe('take over', () => {
    test('gives the next counter, and every verb of the former holder is refused', async () => {
      const before = await claimed(store, 'dead');
      const outcome = await store.takeOver(before, 'alive', stamp());
      const zombie = claimOf(before);

      expect(outcome).toMatchObject({
        kind: 'applied',
        row: { session: 'alive', leaseCounter: before.leaseCounter + 1, attempts: 2 },
      });
      const verbs = await Promise.all([
        store.complete(zombie, { ok: true }, stamp()),
        store.commit(zombie, { ok: true }, [], numbered()),
        store.retry(zombie, { error: ERROR, readyAt: 0 }, stamp()),
        store.discard(zombie, ERROR, stamp()),
        store.release(zombie, stamp()),
        store.snooze(zombie, 0, stamp()),
        store.progress(zombie, { at: 1 }, { ...stamp(), sequence: 1 }),
      ]);
      expect(verbs.map(({ kind }) => kind)).toEqual(verbs.map(() => 'refused'));
      expect(await store.get(before)).toMatchObject({ state: 'running', session: 'alive' });
    });

    test('is refused once another took over', async () => {
      const observed = await claimed(store, 'dead');
      await store.takeOver(observed, 'first', stamp());

      expect(await store.takeOver(observed, 'second', stamp())).toMatchObject({
        kind: 'refused',
        current: { session: 'first' },
      });
    });
  });

  describe('the verbs of a holder', () => {
    test('complete keeps the result and takes the task out of the index', async () => {
      const task = await claimed(store, 'session-1', { queue: 'complete' });

      await store.complete(claimOf(task), { bytes: 7 }, stamp());

      expect(await store.get(task)).toMatchObject({ state: 'done', result: { bytes: 7 } });
      const { hints } = await store.page(
        { queue: 'complete', priority: 'normal', shard: 0 },
        { now: Date.now(), limit: 10 },
      );
      expect(hints).toEqual([]);
    });

    test('retry keeps the error and waits until its time', async () => {
      const task = await claimed(store);
      const readyAt = systemRuntime.clock.now() + 60_000;

      await store.retry(claimOf(task), { error: ERROR, readyAt }, stamp());

      expect(await store.get(task)).toMatchObject({ state: 'ready', readyAt, lastError: ERROR, attempts: 1 });
    });

    test('release and snooze refund the attempt and keep the progress', async () => {
      const task = await claimed(store);
      await store.progress(claimOf(task), { page: 3 }, { ...stamp(), sequence: 1 });

      await store.release(claimOf(task), stamp());

      expect(await store.get(task)).toMatchObject({ state: 'ready', attempts: 0, progress: { page: 3 } });
    });

    test('discard and markDead end the task with its error', async () => {
      const one = await claimed(store);
      const other = await claimed(store);

      await store.discard(claimOf(one), ERROR, stamp());
      await store.markDead(other, ERROR, stamp());

      expect(await store.get(one)).toMatchObject({ state: 'dead', lastError: ERROR });
      expect(await store.get(other)).toMatchObject({ state: 'dead', lastError: ERROR });
    });
  });

  describe('commit', () => {
    const put = (id: string, condition = false) => ({
      Put: {
        TableName: open().table,
        Item: { pk: `user#${id}`, sk: 'row', from: id },
        ...(condition ? { ConditionExpression: 'attribute_exists(pk)' } : {}),
      },
    });

    test('applies the writes of the user together with the completion', async () => {
      const task = await claimed(store);

      const outcome = await store.commit(claimOf(task), { ok: true }, [put(task.id)], numbered());

      expect(outcome).toEqual({ kind: 'applied' });
      expect(await store.get(task)).toMatchObject({ state: 'done', result: { ok: true } });
    });

    test('applies nothing when a condition of the user is false, and says which', async () => {
      const task = await claimed(store);

      const outcome = await store.commit(
        claimOf(task),
        undefined,
        [put(`${task.id}-1`), put(`${task.id}-2`, true)],
        numbered(),
      );

      expect(outcome).toMatchObject({
        kind: 'canceled',
        reasons: [{ code: 'None' }, { code: 'ConditionalCheckFailed' }],
      });
      expect(await store.get(task)).toMatchObject({ state: 'running' });
    });
  });

  describe('a lost response', () => {
    /** A store whose writes meet accidents. */
    function unlucky(): { store: TaskStore; driver: FaultyDriver } {
      const driver = new FaultyDriver(open().driver);
      const sender = new Sender({
        driver,
        runtime: systemRuntime,
        policy: { ...PATIENT, backoff: { baseMs: 1, capMs: 2 } },
      });
      return { driver, store: createTaskStore(sender, { table: open().table, shards: SHARDS }) };
    }

    test.each(['enqueue', 'claim', 'takeOver', 'complete', 'commit', 'retry', 'release', 'progress'] as const)(
      'of %s is recognised as applied by its own nonce',
      async (verb) => {
        const { store: lossy, driver } = unlucky();
        const ready = await enqueued(store);
        const running = await claimed(store);
        const claim = claimOf(running);
        driver.accidents.push('dropResponse');

        const outcome = await {
          enqueue: () => lossy.enqueue(newTask(), stamp()),
          claim: () => lossy.claim(ready, 'session-2', stamp()),
          takeOver: () => lossy.takeOver(running, 'session-2', stamp()),
          complete: () => lossy.complete(claim, { ok: 1 }, stamp()),
          commit: () => lossy.commit(claim, { ok: 1 }, [], numbered()),
          retry: () => lossy.retry(claim, { error: ERROR, readyAt: 0 }, stamp()),
          release: () => lossy.release(claim, stamp()),
          progress: () => lossy.progress(claim, 1, { ...stamp(), sequence: 1 }),
        }[verb]();

        expect(outcome.kind).toBe('applied');
        expect(driver.attempts.length).toBe(2);
      },
    );

    test('reports an unresolvable outcome as unknown, never as a guess', async () => {
      const { store: lossy, driver } = unlucky();
      const task = await claimed(store);
      driver.accidents.push(...Array.from({ length: 5_000 }, () => 'dropRequest' as const));

      const completing = lossy.complete(claimOf(task), 1, stamp(), { budgetMs: 50 });

      await expect(completing).rejects.toMatchObject({ name: 'StoreUnavailableError', applied: 'unknown' });
      await expect(completing).rejects.toBeInstanceOf(StoreUnavailableError);
    });

    test('says nothing was applied when every attempt was throttled', async () => {
      const { store: lossy, driver } = unlucky();
      const task = await claimed(store);
      driver.accidents.push(...Array.from({ length: 5_000 }, () => 'throttle' as const));

      await expect(lossy.complete(claimOf(task), 1, stamp(), { budgetMs: 50 })).rejects.toMatchObject({
        applied: 'no',
      });
    });

    test("sends nothing once the sender's trust is over", async () => {
      const { store: lossy, driver } = unlucky();
      const task = await claimed(store);
      driver.accidents.push('dropRequest');
      let checks = 0;
      const ensureTrusted = (): void => {
        if (++checks > 1) throw new Error('lost');
      };

      await expect(lossy.complete(claimOf(task), 1, stamp(), { ensureTrusted })).rejects.toThrow('lost');

      expect(driver.attempts.length).toBe(1);
    });
  });

  describe('write units', () => {
    test('a task of up to 1 KB costs five: enqueue 2, claim 1, complete 2', async () => {
      const task = await claimed(store);
      await store.complete(claimOf(task), { ok: true }, stamp());

      expect(unitsOf(meter)).toMatchObject({ 'task.enqueue': 2, 'task.claim': 1, 'task.complete': 2 });
    });

    test('take over, release and progress cost one, retry, snooze and discard three', async () => {
      const first = await claimed(store);
      const second = await store.takeOver(first, 'session-2', stamp());
      if (second.kind === 'refused') throw new Error('refused');
      await store.progress(claimOf(second.row), { at: 1 }, { ...stamp(), sequence: 1 });
      await store.release(claimOf(second.row), stamp());
      await store.retry(claimOf(await claimed(store)), { error: ERROR, readyAt: 1 }, stamp());
      await store.snooze(claimOf(await claimed(store)), 1, stamp());
      await store.discard(claimOf(await claimed(store)), ERROR, stamp());

      expect(unitsOf(meter)).toMatchObject({
        'task.takeOver': 1,
        'task.progress': 1,
        'task.release': 1,
        'task.retry': 3,
        'task.snooze': 3,
        'task.discard': 3,
      });
    });

    test('a refused claim costs one', async () => {
      const task = await enqueued(store);
      await store.claim(task, 'session-1', stamp());
      await store.claim(task, 'session-2', stamp());

      expect(meter.read().byVerb['task.claim']).toMatchObject({ requests: 2, refused: 1, writeUnits: 2 });
    });
  });
});

function unitsOf(meter: Meter): Record<string, number> {
  return Object.fromEntries(Object.entries(meter.read().byVerb).map(([verb, cost]) => [verb, cost.writeUnits]));
}
