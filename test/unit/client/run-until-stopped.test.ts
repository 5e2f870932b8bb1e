/** A worker's whole life in simulated time: outages, lost sessions, and what remains of it at its end. */
import { describe, expect, test } from 'vitest';
import { runUntilStopped } from '../../../shared/client/run-until-stopped.ts';
import { schedulesOf } from '../../../shared/client/schedules-of.ts';
import { LeaseLostError } from '../../../shared/core/errors.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import type { TaskModule } from '../../../shared/tasks/run/task-module.ts';
import { taskModuleOf } from '../../../shared/tasks/run/task-module.ts';
import { defineSchedule } from '../../../shared/tasks/schedule/declaration.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { HandedBackError } from '../../../shared/tasks/task/control.ts';
import type { TaskLog } from '../../../shared/tasks/task/context.ts';
import { createTestKit } from '../../../shared/testing/kit.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';
import { whenAborted } from '../../support/when-aborted.ts';

const TTL_MS = 10_000;
const SETTINGS = {
  queue: 'q',
  shards: 1,
  concurrency: 2,
  graceMs: 1_000,
  untilDrained: false,
  sessionTtlMs: TTL_MS,
  logEnds: false,
};
const NONE = { done: 0, retried: 0, dead: 0, other: 0 };
const quick = defineTask({ name: 'quick', run: () => undefined });

/** A log that does not repeat itself, and has no lines of level debug. */
function noting(logged: string[]): TaskLog {
  const note =
    (level: string) =>
    (message: string): void =>
      void (logged.at(-1) !== `${level} ${message}` && logged.push(`${level} ${message}`));
  return { debug: () => undefined, info: note('info'), warn: note('warn'), error: note('error') };
}

function open(module: TaskModule = taskModuleOf({ quick })) {
  const world = simulatedWorld();
  const user = world.start({ queue: 'q', shards: 1 }).leasehold;
  const worker = world.start({ queue: 'q', shards: 1 });
  const logged: string[] = [];
  const log = noting(logged);
  const handBack = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  const run = (settings: Partial<typeof SETTINGS> = {}) => {
    const stopSending = () => worker.sender.close();
    const ports = { ...worker.ports, leasehold: worker.leasehold, log, stopSending };
    const ended = runUntilStopped(module, ports, { ...SETTINGS, ...settings }, handBack.signal);
    running = ended;
    return ended;
  };
  const pass = (ms: number) =>
    passTime(
      world,
      user.tasks.get('none').then(() => worker.runtime.clock.sleep(ms)),
    );
  const stop = () => handBack.abort(new HandedBackError('stopped'));
  const sessions = () => Array.fromAsync(user.sessions.list());
  /** Until the task has ended, or the worker has. */
  const isDone = async (id: string) => passTime(world, Promise.race([user.tasks.result(id), running]));
  return { world, user, worker, logged, run, pass, stop, sessions, isDone };
}

test('has one session, with the name of its queue and no lock-delay, and ends it', async () => {
  const { world, user, run, pass, stop, sessions, isDone } = open();
  const running = run();
  for (const id of ['a', 'b']) {
    await user.tasks.enqueue(quick, null, { id });
    await isDone(id);
    await pass(5_000);
  }
  const opened = await sessions();
  stop();

  expect(await passTime(world, running)).toEqual({ ...NONE, done: 2 });
  expect(opened).toMatchObject([{ name: 'worker/q', ttlMs: TTL_MS, lockDelayMs: 0, status: 'live' }]);
  expect(await sessions()).toEqual([]);
});

test('survives an outage before its first session and one in its middle, and continues with a new session', async () => {
  const { world, user, worker, logged, run, pass, stop, sessions, isDone } = open();
  worker.driver.isDown = true;
  const running = run();
  await pass(30_000);
  expect(logged).toEqual(['error store unavailable, retrying']);
  worker.driver.isDown = false;
  await user.tasks.enqueue(quick, null, { id: 'a' });
  await isDone('a');
  const [first] = await sessions();
  worker.driver.isDown = true;
  await pass(60_000);
  worker.driver.isDown = false;
  await user.tasks.enqueue(quick, null, { id: 'b' });
  await isDone('b');
  const live = (await sessions()).filter(({ id }) => id !== first?.id);
  stop();

  expect(await passTime(world, running)).toEqual({ ...NONE, done: 2 });
  expect(live).toMatchObject([{ name: 'worker/q', status: 'live' }]);
  expect(logged).toContain('error session lost');
});

test('opens another session if one was lost before it began, and ends with any other error', async () => {
  const { world, user, worker, stop, isDone, run } = open();
  const session = worker.leasehold.session.bind(worker.leasehold);
  const failures: Error[] = [new LeaseLostError('session s', 'expired', 'its time is over')];
  worker.leasehold.session = (settings) => {
    const failure = failures.shift();
    return failure === undefined ? session(settings) : Promise.reject(failure);
  };
  const running = run();
  await user.tasks.enqueue(quick, null, { id: 'a' });
  await isDone('a');
  stop();
  expect(await passTime(world, running)).toEqual({ ...NONE, done: 1 });

  const again = open();
  again.worker.leasehold.session = () => Promise.reject(new RangeError('a mistake'));
  await expect(passTime(again.world, again.run())).rejects.toThrow('a mistake');
});

describe('ends', () => {
  test('when none is due, and returns how tasks ended over all its sessions', async () => {
    const failing = defineTask({
      name: 'failing',
      retry: { backoff: '1h' },
      run: () => {
        throw new Error('no');
      },
    });
    const later = defineTask({ name: 'later', run: (_: unknown, task) => task.snooze('1h') });
    const { world, user, run } = open(taskModuleOf({ quick, failing, later }));
    for (const [task, options] of [
      [quick, {}],
      [failing, {}],
      [failing, { maxAttempts: 1 }],
      [later, {}],
    ] as const)
      await user.tasks.enqueue(task, null, options);

    expect(await passTime(world, run({ untilDrained: true }))).toEqual({ done: 1, retried: 1, dead: 1, other: 1 });
  });

  describe.each(['refuses', 'swallows'] as const)('soon when it is stopped while the store %s', (how) => {
    test.each(['never reached', 'idle', 'at work', 'long lost'])('and the worker is %s', async (state) => {
      const begun = Promise.withResolvers<undefined>();
      const hangs = defineTask({
        name: 'hangs',
        run: async (_: unknown, { signal }) => {
          begun.resolve(undefined);
          await whenAborted(signal);
          throw signal.reason;
        },
      });
      const { world, user, worker, run, pass, stop } = open(taskModuleOf({ hangs }));
      const { driver, runtime } = worker;
      const attempt = driver.attempt.bind(driver);
      const goAway = (): void => {
        driver.isDown = true;
        if (how === 'swallows')
          driver.attempt = (kind, input, signal) => whenAborted(signal).then(() => attempt(kind, input, signal));
      };
      if (state === 'at work') await user.tasks.enqueue(hangs, null, { id: 'a' });
      if (state === 'never reached') goAway();
      const running = run({ sessionTtlMs: 60_000 });
      if (state === 'at work') await passTime(world, begun.promise);
      else await pass(3_000);
      goAway();
      await pass(state === 'long lost' ? 90_000 : 300);
      const stoppedAt = runtime.clock.monotonic();

      stop();

      await passTime(world, running);
      expect(runtime.clock.monotonic() - stoppedAt).toBeLessThanOrEqual(SETTINGS.graceMs + 1_500);
    });
  });

  test('with the reason when it may not use the table', async () => {
    const { world, worker, run } = open();
    const denied = new DynamoFault('rejected', { code: 'AccessDeniedException', message: 'not allowed' });
    worker.driver.attempt = () => Promise.reject(denied);

    await expect(passTime(world, run())).rejects.toThrow('AccessDeniedException');
  });
});

test('logs each end if asked, and a task that it takes over from a dead worker', async () => {
  const { world, user, run, logged } = open();
  await user.tasks.enqueue(quick, null, { id: 'a' });
  await passTime(world, run({ untilDrained: true }));
  expect(logged).toEqual([]);

  const kit = createTestKit({ tasks: { quick }, log: noting(logged) });
  await kit.tasks.enqueue(quick, null, { id: 'b' });
  await kit.crash('beforeRun');
  await kit.advance('2m');
  await kit.drain();
  expect(logged).toEqual(['info task taken over from a dead worker']);

  const next = open();
  await next.user.tasks.enqueue(quick, null, { id: 'c' });
  await passTime(next.world, next.run({ untilDrained: true, logEnds: true }));
  expect(next.logged).toEqual(['info task settled']);
});

test('defines schedules once, in its queue or their own', async () => {
  const cron = '0 3 * * *';
  const schedules = [
    defineSchedule('here', 'quick', null, { cron }),
    defineSchedule('there', 'quick', null, { cron, queue: 'other' }),
  ];
  const { world, user, run, pass, stop } = open(taskModuleOf({ quick, schedules }));
  const running = run();
  await pass(5_000);
  const names = async (queue: string) =>
    (await Array.fromAsync(schedulesOf(user).list({ queue }))).map(({ name }) => name);

  expect([await names('q'), await names('other')]).toEqual([['here'], ['there']]);
  await schedulesOf(user).remove('here');
  const [session] = await Array.fromAsync(user.sessions.list());
  await user.sessions.destroy(session?.id ?? '');
  await pass(2 * TTL_MS);
  expect(await names('q')).toEqual([]);
  stop();
  await passTime(world, running);
});
