/** `kit.everyCrash` over all workers of a task, for tasks that use the rest of the library, and what the kit says of attempts that end. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { RetryAfter } from '../../../shared/tasks/task/control.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { defineSchedule } from '../../../shared/tasks/schedule/declaration.ts';
import type { EnqueueOptions } from '../../../shared/tasks/task/task-request.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import { createLeasehold } from '../../../shared/client/leasehold.ts';
import type { CrashRun } from '../../../shared/testing/every-crash.ts';
import { silent } from '../../../shared/testing/silent-log.ts';
import type { TestKit } from '../../../shared/testing/kit.ts';
import { createTestKit } from '../../../shared/testing/kit.ts';

const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
afterEach(() => warned.mockClear());

type Uses = (kit: TestKit, task: TaskContext) => Promise<unknown>;
const USES: Readonly<Record<string, Uses>> = {
  async session(kit) {
    await using session = await kit.leasehold.session();
    return session.id;
  },
  async lock(kit) {
    await using session = await kit.leasehold.session();
    await using lock = await session.lock('k', { wait: '20s' });
    return lock.fencingToken;
  },
  async permit(kit) {
    await using session = await kit.leasehold.session();
    await using permit = await session.permit('v', { limit: 1, wait: '20s' });
    return permit.signal;
  },
  async rate(kit) {
    const limiter = kit.leasehold.rateLimiter('r', { rate: 1, per: '10s', burst: 1 });
    await limiter.take('k');
    await limiter.take('k');
  },
};

describe.each([false, true])('with timePasses: %s', (timePasses) => {
  test.each(Object.keys(USES))('tries every crash of a task that uses a %s', async (name) => {
    const use = defineTask({
      name: 'use',
      async run(_: unknown, task) {
        await USES[name]?.(kit, task);
        return await task.commit('used');
      },
    });
    const kit: TestKit = createTestKit({ tasks: { use } });

    const { requests, crashes } = await kit.everyCrash(
      use,
      null,
      ({ task }) => expect(task).toMatchObject({ state: 'done', result: 'used' }),
      { timePasses },
    );

    expect(crashes).toBe(2 * requests.length);
    expect(requests.length).toBeGreaterThan(20);
  });
});

describe('an effect outside of the commit is found', () => {
  let mails = 0;
  const mail = (): void => void mails++;
  const mailer = defineTask({ name: 'mailer', run: mail });
  const child = defineTask({ name: 'child', run: () => undefined });
  const other = defineTask({ name: 'other', run: () => undefined });
  const named = (run: (task: TaskContext) => unknown) =>
    defineTask({ name: 'unsafe', run: (_: unknown, task) => run(task) as never });
  const inLine = { key: 'k', ordered: true } as const;
  const rate = { key: 'k', rate: { count: 1, per: '1m' } } as const;

  const LATER: Readonly<Record<string, (task: TaskContext) => unknown>> = {
    'after a snooze': (task) =>
      task.progress === undefined ? task.saveProgress(1).then(() => task.snooze('5s')) : mail(),
    async 'after a failure'(task) {
      if (task.progress !== undefined) {
        mail();
        return;
      }
      await task.saveProgress(1);
      throw new RetryAfter('5s', 'busy');
    },
    'after its children': (task) =>
      task.children === undefined ? task.waitFor([spawn(child, null, { delay: '5s' })]) : mail(),
    'in a task that it spawned': (task) => task.commit('ok', [], { spawn: [spawn(mailer, null, { delay: '5s' })] }),
  };
  const BEGINS: Readonly<Record<string, readonly [EnqueueOptions, ((kit: TestKit) => unknown)?]>> = {
    'with a delay': [{ delay: '2s' }],
    'in three days': [{ delay: '3d' }],
    debounced: [{ id: 'w', onDuplicate: 'debounce', delay: '2s' }],
    'behind a delayed task': [inLine, (kit) => kit.tasks.enqueue(other, null, { ...inLine, delay: '1m' })],
    'behind a due task': [inLine, (kit) => kit.tasks.enqueue(other, null, inLine)],
    'after a more urgent task': [{ priority: 'low' }, (kit) => kit.tasks.enqueue(other, null, { priority: 'high' })],
    'with a used-up rate': [rate, (kit) => kit.tasks.enqueue(other, null, rate).then(() => kit.drain())],
  };

  async function failureOf(run: (task: TaskContext) => unknown, begins: (typeof BEGINS)[string]): Promise<string> {
    const unsafe = named(run);
    const kit = createTestKit({ tasks: { unsafe, mailer, child, other } });
    const [enqueue, prepare] = begins;
    await prepare?.(kit);
    return await kit
      .everyCrash(unsafe, null, () => expect(mails, 'mails').toBe(1), { before: () => (mails = 0), enqueue })
      .then(() => 'passed', String);
  }

  test.each(Object.keys(LATER))('%s', async (name) => {
    expect(await failureOf(LATER[name]!, [{}])).toMatch(/killed at request \d+ of \d+ .*mails: expected 2 to be 1/s);
  });

  test.each(Object.keys(BEGINS))('in a task that begins %s', async (name) => {
    expect(await failureOf(mail, BEGINS[name]!)).toMatch(/killed at request \d+ of \d+ .*mails: expected 2 to be 1/s);
  });
});

describe('refuses a run that no crash touches', () => {
  const hello = defineTask({ name: 'hello', run: () => 'hello' });
  const scenes: Readonly<Record<string, readonly [EnqueueOptions, (kit: TestKit) => unknown, string]>> = {
    'of a paused queue': [
      {},
      (kit) => kit.operator.pause({ reason: 'audit' }),
      'the queue of every-crash is paused: audit',
    ],
    'of another queue': [
      { queue: 'media' },
      () => undefined,
      'every-crash is in queue media, and the workers of this kit',
    ],
    'of a task that has ended before': [
      { id: 'h' },
      (kit) => kit.tasks.enqueue(hello, null, { id: 'h' }).then(() => kit.drain()),
      'no worker claimed task h of queue default, so no crash would touch it: it is done',
    ],
  };
  test.each(Object.keys(scenes))('%s', async (name) => {
    const [enqueue, prepare, message] = scenes[name]!;
    const kit = createTestKit({ tasks: { hello } });
    await prepare(kit);
    await expect(kit.everyCrash(hello, null, () => undefined, { enqueue })).rejects.toThrow(message);
  });

  test('and a crash when nothing is due', async () => {
    const kit = createTestKit({ tasks: { hello } });
    await kit.tasks.enqueue(hello, null, { delay: '2s' });
    await expect(kit.crash('beforeSettle')).rejects.toThrow('no task of queue default is due, so nothing crashed');
  });
});

describe('a kit of several queues', () => {
  const publish = defineTask({ name: 'publish', run: (_: unknown, { queue }) => `published in ${queue}` });
  const sync = defineTask({
    name: 'sync',
    run: (_: unknown, task) => task.commit('ok', [], { spawn: [spawn(publish, null, { id: 'p', queue: 'media' })] }),
  });

  test('names the task that none of its workers claims', async () => {
    const kit = createTestKit({ tasks: { sync, publish } });
    await expect(kit.everyCrash(sync, null, () => undefined)).rejects.toThrow('p is in queue media, and the workers');
  });
  const nightly = defineSchedule('nightly', publish, null, { cron: '0 3 * * *' });
  const newKit = () =>
    createTestKit({
      tasks: { sync },
      queue: 'catalogue',
      queues: { media: { tasks: { publish, schedules: [nightly] } } },
    });

  test('drains all queues, makes the tasks of their schedules, and kills their workers', async () => {
    const kit = newKit();
    await kit.tasks.enqueue(sync, null, { id: 's' });
    expect((await kit.drain()).settled.done).toBe(2);
    expect(await kit.tasks.get('p', 'media')).toMatchObject({ state: 'done', result: 'published in media' });

    await kit.advance('1d');
    expect(await kit.tick()).toBe(1);
    expect((await kit.runOnce()).claimed).toBe(1);

    const { requests } = await newKit().everyCrash(sync, null, ({ task }) => expect(task.state).toBe('done'));
    expect(requests.filter((verb) => verb === 'task.claim')).toHaveLength(2);
  });

  test('puts the callback of a batch under every crash', async () => {
    const kit = createTestKit({ tasks: { publish } });
    const check = ({ task }: CrashRun) => expect(task.children).toMatchObject({ id: 'every-crash' });
    const options = { children: [spawn(publish, null), spawn(publish, null)] };
    const { crashes, requests } = await kit.everyCrash(publish, null, check, options);
    expect(crashes).toBe(2 * requests.length);
    expect(requests.filter((verb) => verb === 'task.claim').length).toBe(3);
  });

  test('refuses a request of a client that is not the kit’s, before it is sent', async () => {
    const foreign = createLeasehold({ endpoint: 'http://127.0.0.1:9', region: 'us-east-1' });
    const run = () => foreign.tasks.enqueueBatch([spawn(publish, null)], { id: 'b' });
    const stranger = defineTask({ name: 'stranger', retry: { maxAttempts: 1 }, run });
    const kit = createTestKit({ tasks: { stranger }, log: silent });
    await kit.tasks.enqueue(stranger, null, { id: 's' });
    await kit.drain();

    const { lastError } = (await kit.tasks.get('s'))!;
    expect(lastError?.message).toMatch(/nothing was sent; take the client from leaseholdOf\(task\)/);
    foreign.close();
  });
});

test('asks the test when nothing is due, in each run', async () => {
  const approval = defineTask({
    name: 'approval',
    run: async (_: unknown, task) =>
      kit.rows('answers').length === 0
        ? await task.snooze('1h')
        : await task.commit(kit.rows('answers')[0]?.id as string),
  });
  const kit: TestKit = createTestKit({ tasks: { approval }, tables: [{ name: 'answers', partitionKey: 'id' }] });
  const idle = vi.fn(() => kit.put('answers', { id: 'yes' }));

  const { crashes } = await kit.everyCrash(
    approval,
    null,
    ({ task }) => expect(task).toMatchObject({ state: 'done', result: 'yes' }),
    { idle },
  );

  expect(idle.mock.calls.length).toBeGreaterThan(crashes);
});

test('drain returns each attempt that ended, and says the first failure unless a log has it', async () => {
  const bad = defineTask({
    name: 'bad',
    retry: { maxAttempts: 1 },
    run: () => {
      throw new TypeError('boom');
    },
  });
  const ok = defineTask({ name: 'ok', run: () => 1 });
  const kit = createTestKit({ tasks: { bad, ok } });
  for (const task of [ok, bad, bad]) await kit.tasks.enqueue(task, null);

  const { tasks } = await kit.drain();

  expect(tasks.map(({ name, ended, error }) => [name, ended, error?.name, error?.message])).toEqual([
    ['ok', 'done', undefined, undefined],
    ['bad', 'dead', 'TypeError', 'boom'],
    ['bad', 'dead', 'TypeError', 'boom'],
  ]);
  expect(warned.mock.calls).toEqual([
    [`task ${tasks[1]!.id} (bad) is dead, the first of 2 failures: TypeError: boom`, { type: 'LeaseholdWarning' }],
  ]);
  expect((await kit.everyCrash(ok, null, () => undefined)).tasks).toMatchObject([{ name: 'ok', ended: 'done' }]);
});
