/** Waiting for the end of tasks, over the whole stack down to a DynamoDB in memory. */
import { describe, expect, expectTypeOf, test } from 'vitest';
import { ConfigurationError, StoreUnavailableError } from '../../../../shared/core/errors.ts';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import type { TaskOutcome } from '../../../../shared/tasks/queue/results.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { DoNotRetry } from '../../../../shared/tasks/task/control.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

const double = defineTask({ name: 'double', run: (n: number) => ({ twice: 2 * n }) });
const silent = defineTask({ name: 'silent', run: (_: unknown) => undefined });
const failing = defineTask({
  name: 'failing',
  run: (_: unknown) => {
    throw new DoNotRetry('no such customer');
  },
});

/** A queue whose worker works as long as anything waits for an end. */
function open(wrap?: (driver: DynamoDriver) => DynamoDriver) {
  const q = openMemoryQueue(wrap);
  return { ...q, both: <T>(waiting: Promise<T>): Promise<T> => q.clock.runUntil(waiting, () => true) };
}

describe('the result of a task', () => {
  test('comes with its end, typed by the definition', async () => {
    const q = open();
    const { id } = await q.client.enqueue(double, 21);
    const waiting = q.client.result(double, { id, wait: '1m' });
    await q.work({ double });

    const outcome = await q.both(waiting);

    expectTypeOf(outcome).toEqualTypeOf<TaskOutcome<{ twice: number }>>();
    expect(outcome).toMatchObject({ kind: 'done', id, result: { twice: 42 }, task: { state: 'done' } });
  });

  test('is an outcome, and no error, when the task is dead or cancelled', async () => {
    const q = open();
    await q.client.enqueue(failing, null, { id: 'dead' });
    await q.client.enqueue(silent, null, { id: 'cancelled', expires: '1s' });
    await q.clock.advance(2_000);
    await q.work({ failing, silent });

    expect(await q.client.result(failing, { id: 'dead' })).toMatchObject({
      kind: 'dead',
      error: { message: 'no such customer' },
    });
    expect(await q.client.result('cancelled')).toMatchObject({ kind: 'cancelled' });
  });

  test('is the deadline when the task has not ended by then, with what it is doing', async () => {
    const q = open();
    await q.client.enqueue(silent, null, { id: 't' });
    const startedAt = q.clock.monotonic();

    const outcome = await q.both(q.client.result('t', { wait: '5s' }));

    expect(outcome).toMatchObject({ kind: 'deadline', task: { state: 'ready' } });
    expect(q.clock.monotonic() - startedAt).toBe(5_000);
    expect(await q.client.result('t', { wait: 0 })).toMatchObject({ kind: 'deadline' });
  });

  test('is refused for a missing task, or one of another definition', async () => {
    const q = open();
    await q.client.enqueue(silent, null, { id: 't' });

    await expect(q.client.result('never', { wait: '1m' })).rejects.toThrow('there is no task never of queue default');
    await expect(q.client.result(double, { id: 't' })).rejects.toThrow('has the name silent, not double');
    await expect(q.client.result('t', { waits: '1s' } as never)).rejects.toThrow(/unknown option "waits"/);
  });

  test('is not waited for through an outage if there is no time left', async () => {
    const fault = { code: 'ThrottlingException', message: 'hot' };
    let requests = 0;
    const q = open(() => ({
      attempt: () =>
        Promise.reject(++requests < 1_000 ? new DynamoFault('throttled', fault) : new Error('it was asked for ever')),
    }));

    await expect(q.both(q.client.result('t', { wait: 0 }))).rejects.toThrow(StoreUnavailableError);
  });

  test('is refused for a missing task when the store comes back, however the wait began', async () => {
    let isAway = true;
    const q = open((driver) => ({
      attempt: (kind, input, signal) =>
        isAway && (kind === 'get' || kind === 'batchGet')
          ? Promise.reject(new DynamoFault('throttled', { code: 'ThrottlingException', message: 'hot' }))
          : driver.attempt(kind, input, signal),
    }));
    const refused = expect(q.client.result('never', { wait: '1h' })).rejects.toThrow('there is no task never');
    await q.clock.advance(60_000);
    isAway = false;
    await q.clock.advance(10_000);

    await refused;
  });

  test('costs a thousand waiters of a hundred tasks about one read a second, half a unit a task', async () => {
    let batches = 0;
    const q = open((driver) => ({
      attempt(kind, input, signal) {
        if (kind === 'batchGet') batches++;
        return driver.attempt(kind, input, signal);
      },
    }));
    const ids = Array.from({ length: 100 }, (_, nth) => `t${nth}`);
    for (const id of ids) await q.client.enqueue(silent, null, { id });
    const waiting = ids.flatMap((id) => Array.from({ length: 10 }, () => q.client.result(id, { wait: '20s' })));
    await q.clock.advance(5_000);
    const before = { batches, units: q.meter.read().readUnits };

    await q.clock.advance(10_000);

    expect(batches - before.batches).toBeLessThanOrEqual(11);
    expect(q.meter.read().readUnits - before.units).toBeLessThanOrEqual(11 * 50);
    const outcomes = await q.both(Promise.all(waiting));
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['deadline']));
  });
});

describe('enqueueAndWait', () => {
  test('enqueues, and waits for the result', async () => {
    const q = open();
    const waiting = q.client.enqueueAndWait(double, 4, { wait: '1m', id: 't' });
    await q.clock.advance(50);
    await q.work({ double });

    expect(await q.both(waiting)).toMatchObject({ kind: 'done', id: 't', result: { twice: 8 } });
  });

  test.each([{ wait: 'soon' }, { signal: {} }])('is refused with %j before any write', async (wrong) => {
    const q = open();

    await expect(q.client.enqueueAndWait(double, 4, { id: 't', ...wrong } as never)).rejects.toThrow(
      ConfigurationError,
    );

    expect(await q.client.get('t')).toBeUndefined();
  });

  test('ends with the reason of the signal, while its task goes on', async () => {
    const q = open();
    const stop = new AbortController();
    const waiting = q.client.enqueueAndWait(double, 4, { id: 't', wait: '1m', signal: stop.signal });
    const ended = expect(waiting).rejects.toThrow('enough');
    await q.clock.advance(300);
    stop.abort(new Error('enough'));
    await q.clock.advance(61_000);

    await ended;
    expect(await q.client.get('t')).toMatchObject({ state: 'ready' });
  });

  test('is refused inside a task before any write, even in code that the task calls later', async () => {
    const q = open();
    const parent = defineTask({
      name: 'parent',
      retry: { maxAttempts: 1 },
      run: async () => {
        await q.clock.sleep(10);
        await q.client.enqueueAndWait(double, 1, { id: 'child' });
      },
    });
    await q.client.enqueue(parent, null, { id: 'p' });
    await q.work({ parent, double });

    expect(await q.client.result('p')).toMatchObject({
      kind: 'dead',
      error: { message: expect.stringContaining('return await task.waitFor([…])') as string },
    });
    expect(await q.client.get('child')).toBeUndefined();
  });
});
