/** Mistakes in a request: the error names the setting, its value, and the remedy; nothing is written. */
import { beforeEach, expect, test } from 'vitest';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { RetryAfter } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { TestKit } from '../../../../shared/testing/kit.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

const work = defineTask({ name: 'work', run: () => 'done' });
const circular: Record<string, unknown> = {};
circular.self = circular;

let kit: TestKit;
beforeEach(() => {
  kit = createTestKit({ tasks: { work } });
});

test.each<[string, Record<string, unknown>, string]>([
  ['a delay that is a number', { delay: 60_000 }, "has no unit: write '60000s' or '60000ms'"],
  ['a name of old', { runAt: new Date() }, 'unknown option "runAt"'],
  ['an unknown priority', { priority: 'urgent' }, 'priority = "urgent"'],
  ['an expiry of no time', { expires: '0ms' }, 'pass a later time'],
  ['an unknown policy', { onDuplicate: 'merge', id: 'a' }, 'onDuplicate = "merge"'],
  ['a negative window', { window: -5, id: 'a' }, 'window = -5'],
  ['a limit of 0', { key: 'k', limit: 0 }, 'limit = 0'],
  ['a limit of a half', { key: 'k', limit: 0.5 }, 'limit = 0.5'],
  ['a limit of thousands', { key: 'k', limit: 5_000 }, 'limit = 5000'],
  ['a rate of nothing', { key: 'k', rate: { count: 0, per: '1m' } }, 'rate.count = 0'],
  ['a rate over a negative time', { key: 'k', rate: { count: 1, per: -1 } }, 'rate.per = -1'],
  ['an empty key', { key: '' }, 'key is empty'],
  ['an empty id', { id: '' }, 'task id is empty'],
  ['an id that is too long', { id: 'x'.repeat(600) }, '600 bytes'],
  ['a queue that is no text', { queue: 7 }, 'queue is of type number'],
  ['a trace that is none', { traceparent: 'here' }, 'traceparent = "here"'],
  ['an empty tenant', { tenant: '' }, 'tenant is empty'],
  ['a label of two lines', { label: 'order\no-7' }, 'has a control character'],
  ['a label that is too long', { label: 'ä'.repeat(33) }, 'has 66 bytes: at most 64 are allowed'],
  ['an empty label', { label: '' }, 'label is empty'],
  ['no attempt at all', { maxAttempts: 0 }, 'maxAttempts = 0'],
  ['attempts without end', { maxAttempts: Infinity }, 'maxAttempts = Infinity'],
  ['a timeout of no time', { timeout: 0 }, 'timeout = 0: must be a time longer than zero'],
  ['a timeout that is no duration', { timeout: 'short' }, 'timeout = "short"'],
])('refuses %s', async (_what, options, message) => {
  const enqueuing = kit.tasks.enqueue(work, {}, options);

  await expect(enqueuing).rejects.toThrow(ConfigurationError);
  await expect(enqueuing).rejects.toThrow(message);
  expect(await kit.drain()).toMatchObject({ claimed: 0 });
});

test.each([
  ['nothing at all', undefined, 'which JSON has no form for'],
  ['a circle', circular, 'cannot be stored as JSON'],
  ['a big integer', { n: 10n }, 'cannot be stored as JSON'],
])('refuses %s as input', async (_what, input, message) => {
  await expect(kit.tasks.enqueue(work, input)).rejects.toThrow(message);
});

test.each([
  ['without an id', () => kit.tasks.enqueueBatch([spawn(work, {})], { id: '' }), 'batch id is empty'],
  [
    'of nothing',
    () => kit.tasks.enqueueBatch(undefined as never, { id: 'b' }),
    'the children of batch b must be an array',
  ],
  ['of what is no request', () => kit.tasks.enqueueBatch([spawn(work, {}), 'work' as never], { id: 'b' }), 'number 2'],
  [
    'of more than 10,000',
    () => kit.tasks.enqueueBatch(Array(10_001).fill(spawn(work, {})), { id: 'b' }),
    'at most 10000',
  ],
  [
    'whose child may be another’s',
    () => kit.tasks.enqueueBatch([spawn(work, {}, { id: 'a', onDuplicate: 'keep' })], { id: 'b' }),
    'child a of batch b has onDuplicate or window',
  ],
  [
    'whose callback expires',
    () => kit.tasks.enqueueBatch([spawn(work, {})], { id: 'b', then: spawn(work, {}, { expires: '1h' }) }),
    'cannot have expires',
  ],
  [
    'whose callback is in order',
    () => kit.tasks.enqueueBatch([spawn(work, {})], { id: 'b', then: spawn(work, {}, { key: 'k', ordered: true }) }),
    'cannot have key',
  ],
  [
    'whose callback is none',
    () => kit.tasks.enqueueBatch([spawn(work, {})], { id: 'b', then: 'work' as never }),
    'the callback of batch b: number 1 is not a task request',
  ],
  [
    'over two queues',
    () => kit.tasks.enqueueBatch([spawn(work, {}, { queue: 'other' })], { id: 'b' }),
    'and its child',
  ],
])('refuses a batch %s', async (_what, enqueue, message) => {
  await expect(enqueue()).rejects.toThrow(message);
  expect(await kit.tasks.getBatch('b')).toBeUndefined();
});

test.each([
  ['a schedule that is none', { cron: 'every now and then' }, 'cron'],
  ['a zone that is none', { cron: '0 3 * * *', zone: 'Atlantis/Poseidonis' }, 'zone'],
  [
    'an unknown policy for missed occurrences',
    { cron: '0 3 * * *', missed: 'some' },
    'missed = "some": must be one of skip, last',
  ],
  ['a negative tolerance', { cron: '0 3 * * *', tolerance: -1 }, 'tolerance = -1'],
  ['an unknown priority of a schedule', { cron: '0 3 * * *', priority: 'urgent' }, 'priority = "urgent"'],
  ['a schedule without a queue', { cron: '0 3 * * *', queue: '' }, 'queue is empty'],
])('refuses a schedule with %s', async (_what, options, message) => {
  await expect(kit.schedules.define('nightly', 'work', {}, options as never)).rejects.toThrow(message);
});

test('refuses an input of a schedule that would fit into a task, but not into the schedule’s row', async () => {
  const defining = kit.schedules.define('nightly', 'work', { text: 'x'.repeat(16 * 1024) }, { cron: '0 3 * * *' });

  await expect(defining).rejects.toThrow(ConfigurationError);
  await expect(defining).rejects.toThrow('its input has 16395 bytes as JSON, and its row takes 16384');
  expect(await Array.fromAsync(kit.schedules.list())).toEqual([]);
});

test('a task that waits for no list of children, or snoozes into the past, fails with a word and is tried again', async () => {
  const waiting = defineTask({ name: 'waiting', run: (_: unknown, task) => task.waitFor('nobody' as never) });
  const snoozing = defineTask({ name: 'snoozing', run: (_: unknown, task) => task.snooze(-1) });
  kit = createTestKit({ tasks: { waiting, snoozing } });
  for (const id of ['waiting', 'snoozing']) await kit.tasks.enqueue(id, {}, { id });

  expect((await kit.drain()).settled.retried).toBe(2);

  expect((await kit.tasks.get('waiting'))?.lastError?.message).toContain('must be an array');
  expect((await kit.tasks.get('snoozing'))?.lastError?.message).toContain('snooze = -1');
});

test.each<[unknown, number | null]>([
  ['5m', 300_000],
  ['1.5h', 5_400_000],
  [2_000, 2_000],
  [-5, null],
  [NaN, null],
  [Infinity, null],
  ['soon', null],
  [null, null],
])(
  'RetryAfter(%o) names the wait, or the attempt fails with what is wrong and the usual wait follows',
  async (delay, ms) => {
    const failing = defineTask({
      name: 'failing',
      run: () => Promise.reject(new RetryAfter(delay as number, 'later')),
      retry: { maxAttempts: 2 },
    });
    kit = createTestKit({ tasks: { failing } });
    await kit.tasks.enqueue(failing, {}, { id: 't' });
    const begun = kit.clock.now();

    await kit.drain();

    const task = await kit.tasks.get('t');
    if (ms !== null) expect(task).toMatchObject({ readyAt: begun + ms, lastError: { message: 'later' } });
    else {
      expect(task?.lastError).toMatchObject({
        name: 'ConfigurationError',
        message: expect.stringContaining('RetryAfter = ') as string,
      });
      expect(task?.state).toBe('ready');
    }
  },
);

test('keeps the label of a task, of what it spawns, and of the work that replaces it', async () => {
  const parent = defineTask({
    name: 'parent',
    run: (_, task) => task.commit(null, [], { spawn: [spawn('work', null, { id: 'child', label: 'child of o-7' })] }),
  });
  const named = createTestKit({ tasks: { work, parent } });
  await named.tasks.enqueue(parent, null, { id: 'a', label: 'order o-7' });
  await named.tasks.enqueue(work, null, { id: 'b', label: 'before', delay: '1h' });
  await named.tasks.enqueue(work, null, { id: 'b', label: 'after', onDuplicate: 'replace' });
  await named.tasks.enqueue(work, null, { id: 'c', label: 'before', delay: '1h' });
  await named.tasks.enqueue(work, null, { id: 'c', onDuplicate: 'replace' });
  const batch = { id: 'batch', then: spawn('work', null, { label: 'all of them' }) };
  await named.tasks.enqueueBatch([spawn('work', null, { id: 'd', label: 'one of them' })], batch);
  await named.drain();

  const labels = await Promise.all(
    ['a', 'child', 'b', 'c', 'd', 'batch/then'].map(async (id) => (await named.tasks.get(id))?.label),
  );
  expect(labels).toEqual(['order o-7', 'child of o-7', 'after', undefined, 'one of them', 'all of them']);
});
