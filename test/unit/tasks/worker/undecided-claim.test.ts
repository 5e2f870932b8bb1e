/** A claim whose answers are lost, of a worker that has other work for long. */
import { expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

const MINUTE_MS = 60_000;
/** How long the other work takes; far more than the session's TTL. */
const LONG_MS = 3 * MINUTE_MS;

test.each([
  ['with nothing', MINUTE_MS / 2],
  ['that it was throttled', MINUTE_MS / 4],
])('runs its task once its row answers again, and before that answers %s', async (_what, throttledAt) => {
  const queue = openMemoryQueue((driver) => ({
    async attempt(kind, input, signal) {
      const isVictims = kind === 'update' && JSON.stringify(input).includes('task#default#victim');
      const age = queue.clock.now() - startedAt;
      if (!isVictims || age >= MINUTE_MS / 2) return driver.attempt(kind, input, signal);
      if (age >= throttledAt) throw new DynamoFault('throttled', { code: 'ThrottlingException', message: 'slow down' });
      // A refusal is an answer, too.
      await driver.attempt(kind, input, signal).catch(() => undefined);
      throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
    },
  }));
  const startedAt = queue.clock.now();

  const { ranAt, endedAt } = await workBesideOther(queue);

  expect(ranAt).toBeGreaterThanOrEqual(MINUTE_MS / 2);
  expect(ranAt).toBeLessThan(MINUTE_MS);
  expect(endedAt).toBeGreaterThanOrEqual(LONG_MS);
  expect(await queue.client.get('victim')).toMatchObject({ state: 'done', attempts: 1 });
});

test('adopts a claim that the network delivers again after its key has capacity', async () => {
  let copy: (() => Promise<unknown>) | undefined;
  let isCopied = false;
  const queue = openMemoryQueue((driver: DynamoDriver) => ({
    async attempt(kind, input, signal) {
      if (kind !== 'transactWrite' || isCopied || !JSON.stringify(input).includes('task#default#victim'))
        return driver.attempt(kind, input, signal);
      // Another was faster to take the place of its key, which is free again when the copy comes.
      isCopied = true;
      copy = () => driver.attempt(kind, input, new AbortController().signal);
      const reasons = [
        { code: 'None', message: undefined, item: undefined },
        { code: 'ConditionalCheckFailed', message: undefined, item: undefined },
      ];
      throw new DynamoFault('transactionCanceled', { code: 'TransactionCanceledException', message: 'full', reasons });
    },
  }));
  void queue.clock.sleep(1_000).then(() => copy?.());

  const { ranAt } = await workBesideOther(queue, { key: 'one', limit: 1 });

  expect(copy).toBeDefined();
  expect(ranAt).toBeLessThan(MINUTE_MS);
  expect(await queue.client.get('victim')).toMatchObject({ state: 'done', attempts: 1 });
});

/** @returns when the victim ran and when its worker ended, in milliseconds of its life */
async function workBesideOther(
  queue: MemoryQueue,
  options: { readonly key?: string; readonly limit?: number } = {},
): Promise<{ readonly ranAt: number; readonly endedAt: number }> {
  const startedAt = queue.clock.now();
  let ranAt = Infinity;
  const long = defineTask({ name: 'long', run: () => queue.clock.sleep(LONG_MS) });
  const victim = defineTask({
    name: 'victim',
    run: () => {
      ranAt = queue.clock.now() - startedAt;
      return Promise.resolve();
    },
  });
  await queue.client.enqueue(long, {}, { id: 'long' });
  await queue.client.enqueue(victim, {}, { id: 'victim', ...options });
  await queue.work({ long, victim }, { concurrency: 2 });
  return { ranAt, endedAt: queue.clock.now() - startedAt };
}
