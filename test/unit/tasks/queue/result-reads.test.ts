/**
 * When a wait for a result reads, and what: every second at most, soon at the beginning, each task once for all who wait for it.
 *
 * After an intended change: `npx vitest run test/unit/tasks/queue/result-reads.test.ts -u`, and read the difference.
 */
import { expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

function open(wrap?: (driver: DynamoDriver) => DynamoDriver) {
  const reads: string[] = [];
  let began = 0;
  const q = openMemoryQueue((inner) => {
    const driver = wrap?.(inner) ?? inner;
    return {
      attempt(kind, input, signal) {
        if (kind === 'get') reads.push(`${q.clock.monotonic() - began} one`);
        if (kind === 'batchGet') {
          const { RequestItems } = input as { readonly RequestItems: Record<string, { readonly Keys: object[] }> };
          const keys = Object.values(RequestItems).flatMap(({ Keys }) => Keys);
          reads.push(`${q.clock.monotonic() - began} batch of ${keys.length}`);
        }
        return driver.attempt(kind, input, signal);
      },
    };
  });
  const begin = (): void => {
    reads.length = 0;
    began = q.clock.monotonic();
  };
  return { ...q, reads, begin, wait: <T>(waiting: Promise<T>): Promise<T> => q.clock.runUntil(waiting, () => true) };
}

test('one wait', async () => {
  const q = open();
  await q.client.enqueue('work', 1, { id: 't' });
  q.begin();

  expect(await q.wait(q.client.result('t', { wait: '4s' }))).toMatchObject({ kind: 'deadline' });

  expect(q.reads).toEqual([
    '0 one',
    '100 batch of 1',
    '300 batch of 1',
    '700 batch of 1',
    '1500 batch of 1',
    '2500 batch of 1',
    '3500 batch of 1',
    '4000 one',
  ]);
});

test.each([0, 1, 49, 50, 51, 99, 100, 101])(
  'a wait of %i ms is as long as that, and reads at its end',
  async (wait) => {
    const q = open();
    await q.client.enqueue('work', 1, { id: 't' });
    q.begin();

    await q.wait(q.client.result('t', { wait }));

    expect(q.clock.monotonic()).toBe(wait);
    expect(q.reads.at(-1)).toBe(`${wait} one`);
  },
);

test.each(['get', 'batchGet'])('a %s that the service refuses ends the wait, for all who wait', async (refused) => {
  let isRefusing = false;
  const q = open((driver) => ({
    attempt: (kind, input, signal) =>
      isRefusing && kind === refused
        ? Promise.reject(new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'not allowed' }))
        : driver.attempt(kind, input, signal),
  }));
  for (const id of ['t', 'u']) await q.client.enqueue('work', 1, { id });
  const waiting = ['t', 'u'].map((id) => q.client.result(id, { wait: '10s' }).catch((error: unknown) => error));
  await q.clock.advance(50);
  isRefusing = true;
  waiting.push(q.client.result('t', { wait: '10s' }).catch((error: unknown) => error));

  const answers = await q.wait(Promise.all(waiting));

  const isRefusal = (answer: unknown) => answer instanceof ConfigurationError && answer.message.includes('not allowed');
  expect(answers.map(isRefusal)).toEqual([true, true, true]);
});
