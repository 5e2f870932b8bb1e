/** Tasks whose names a worker does not know stay unchanged for other workers. */
import { expect, test } from 'vitest';
import type { TaskLog } from '../../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';
import { stamp } from '../../../support/tasks.ts';

const known = defineTask({ name: 'known', run: () => undefined });
const other = defineTask({ name: 'other', retry: { maxAttempts: 1 }, run: () => 'ran' });

function errorsTo(said: Record<string, unknown>[]): TaskLog {
  const ignore = (): void => undefined;
  const error: TaskLog['error'] = (message, ...extra) => {
    said.push(Object.assign({ message }, ...extra) as never);
  };
  return { debug: ignore, info: ignore, warn: ignore, error };
}

test('are neither claimed nor marked dead, and run in a worker that knows them', async () => {
  const q = openMemoryQueue();
  for (let n = 0; n < 20; n++) await q.client.enqueue('other', null, { id: `t${n}` });
  await q.client.enqueue(known, null, { id: 'k' });

  const report = await q.work({ known });

  expect(report).toMatchObject({
    claimed: 1,
    markedDead: 0,
    settled: { done: 1, retried: 0, dead: 0 },
    ended: 'drained',
  });
  expect(report?.unknown).toBeGreaterThanOrEqual(20);
  expect(await q.client.get('t0')).toMatchObject({ state: 'ready', attempts: 0, lastError: undefined });
  expect(await q.work({ other })).toMatchObject({ unknown: 0, settled: { done: 20 } });
});

test('are not taken over from a crashed worker', async () => {
  const q = openMemoryQueue();
  const task = await q.client.enqueue('other', null, { id: 't' }).then(() => q.client.get('t'));
  if (task?.state !== 'ready') throw new Error('it should wait');
  await q.tasks.claim(task, 'a session that is gone', stamp(q.runtime));

  expect(await q.work({ known })).toMatchObject({ claimed: 0, markedDead: 0 });
  expect(await q.client.get('t')).toMatchObject({ state: 'running', attempts: 1 });

  expect(await q.work({ other })).toMatchObject({ markedDead: 1 });
});

test('are reported once per name, with the names that the worker knows', async () => {
  const q = openMemoryQueue();
  for (const name of ['other', 'other', 'third']) await q.client.enqueue(name, null);
  const said: Record<string, unknown>[] = [];

  await q.work({ known }, { log: errorsTo(said) });

  expect(said.map(({ name, known }) => ({ name, known }))).toEqual(
    expect.arrayContaining([
      { name: 'other', known: ['known'] },
      { name: 'third', known: ['known'] },
    ]),
  );
  expect(said).toHaveLength(2);
});

test('are checked again by a running worker after at most a minute', async () => {
  const q = openMemoryQueue();
  await q.client.enqueue('other', null);
  const busy = defineTask({ name: 'busy', run: () => q.clock.sleep(200_000) });
  await q.client.enqueue(busy, null);

  const report = await q.work({ busy }, { concurrency: 2 });

  expect(report?.unknown).toBe(4);
});

test('are cancelled when they have expired, by workers that do not know them too', async () => {
  const q = openMemoryQueue();
  await q.client.enqueue('other', null, { id: 't', expires: '1s' });
  await q.clock.advance(2_000);

  expect(await q.work({ known })).toMatchObject({ expired: 1, unknown: 0 });
  expect(await q.client.get('t')).toMatchObject({ state: 'cancelled' });
});
