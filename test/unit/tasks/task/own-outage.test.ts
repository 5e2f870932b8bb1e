/** An outage of the store that the tasks themselves are kept in costs no attempt: their code is not to blame. */
import { expect, test } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

const THROTTLED = new DynamoFault('throttled', { code: 'ThrottlingException', message: 'hot partition' });
const UNANSWERED = new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
const OUTAGE_MS = 120_000;
/** Its own default is 25, whose waits outlast the outage. */
const RETRY = { maxAttempts: 3, backoff: '1s' } as const;

/** Commits fail for some time, and all other requests succeed. */
function openDuringOutage(fault: DynamoFault, endsAfterMs: number) {
  const q = openMemoryQueue((driver: DynamoDriver): DynamoDriver => ({
    attempt: async (kind, input, signal) => {
      if (kind === 'transactWrite' && q.clock.monotonic() < endsAfterMs) throw fault;
      return driver.attempt(kind, input, signal);
    },
  }));
  return q;
}

const committing = (runs: number[], retry: { readonly maxAttempts: number; readonly backoff: '1s' } = RETRY) =>
  defineTask({
    name: 'committing',
    retry,
    run: (_: unknown, task) => {
      runs.push(task.attempt);
      return task.commit('done');
    },
  });

test.each([
  ['that is throttled', THROTTLED],
  ['that is not answered', UNANSWERED],
])('a commit %s hands its task back, and costs no attempt', async (_, fault) => {
  const q = openDuringOutage(fault, OUTAGE_MS);
  const runs: number[] = [];
  const task = committing(runs);
  await q.client.enqueue(task, null, { id: 't' });

  while ((await q.client.get('t'))?.state === 'ready') {
    await q.work({ task });
    await q.clock.advance(1_000);
  }

  expect(await q.client.get('t')).toMatchObject({ state: 'done', attempts: 1, result: 'done' });
  expect(runs.length).toBeGreaterThan(RETRY.maxAttempts);
  // Each wait is as long as it has been failing: about as many as the outage has doublings of a second.
  expect(runs.length).toBeLessThan(20);
  expect(new Set(runs)).toEqual(new Set([1]));
});

test('does not rerun a task with one attempt after an outage', async () => {
  const q = openDuringOutage(THROTTLED, OUTAGE_MS);
  const runs: number[] = [];
  const task = committing(runs, { maxAttempts: 1, backoff: '1s' });
  await q.client.enqueue(task, null, { id: 't' });

  await q.work({ task });

  expect(await q.client.get('t')).toMatchObject({ state: 'dead', lastError: { name: 'StoreUnavailableError' } });
  expect(runs).toEqual([1]);
});

test('counts an outage as a failure after a day', async () => {
  const q = openDuringOutage(THROTTLED, Infinity);
  const task = committing([]);
  await q.client.enqueue(task, null, { id: 't' });

  for (let hour = 0; hour <= 25 && (await q.client.get('t'))?.state === 'ready'; hour++) {
    await q.work({ task });
    await q.clock.advance(3_600_000);
  }

  expect((await q.client.get('t'))?.attempts).toBeGreaterThan(0);
});
