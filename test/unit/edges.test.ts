/** Where users hand something over: an unknown name, and a value of the wrong kind, are refused there. */
import { describe, expect, test } from 'vitest';
import { createWorker } from '../../shared/client/create-worker.ts';
import { enqueuer, getTask } from '../../shared/client/edge/enqueuer.ts';
import { lockSession } from '../../shared/client/edge/edge-sessions.ts';
import { schedulesOf } from '../../shared/client/schedules-of.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import type { Leasehold } from '../../shared/client/leasehold.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { createS3Payloads } from '../../shared/tasks/s3/payloads.ts';
import type { Session } from '../../shared/client/session.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import { isPayloadOf } from '../../shared/tasks/task/payload.ts';
import { spawn } from '../../shared/tasks/task/task-request.ts';
import { createTestKit } from '../../shared/testing/kit.ts';

interface Hand {
  readonly leasehold: Leasehold;
  readonly session: Session;
}

const run = () => undefined;

async function hand(): Promise<Hand> {
  const { leasehold } = createTestKit({ tasks: { work: defineTask({ name: 'work', run }) } });
  return { leasehold, session: await leasehold.session() };
}

/** Passes a value regardless of its type. */
const wrong = (value: unknown): never => value as never;

async function refusal(act: (hand: Hand) => unknown): Promise<string> {
  const there = await hand();
  try {
    await act(there);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as Error).message;
  }
  return 'nothing was refused';
}

const unknownOption = (name: string): RegExp => new RegExp(`unknown option "${name}": known are `);
const LIMITER = { limit: 1 };
const RATE = { rate: 1, per: '1s' } as const;
const WHO = { by: 'ops', reason: 'test' };

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('an unknown name is refused', () => {
  test.each(
    Object.entries<(hand: Hand) => unknown>({
      'createLeasehold: maxClockSkewMs': () => createLeasehold(wrong({ table: 't', maxClockSkewMs: 5 })),
      'createTestKit: task': () => createTestKit(wrong({ task: {} })),
      'drain: liftime': () => createTestKit().drain(wrong({ liftime: '1m' })),
      'runOnce: attempts': () => createTestKit().runOnce(wrong({ attempts: 5 })),
      'createWorker: maxWorkers': () => createWorker({}, wrong({ maxWorkers: 5 })),
      'createS3Payloads: buket': () => createS3Payloads(wrong({ buket: 'b' })),
      'session: ttlMs': ({ leasehold }) => leasehold.session(wrong({ ttlMs: 5 })),
      'lock: timeout': ({ session }) => session.lock('k', wrong({ timeout: 5 })),
      'tryLock: wait': ({ session }) => session.tryLock('k', wrong({ wait: 5 })),
      'lockAll: timeout': ({ session }) => session.lockAll(['k'], wrong({ timeout: 5 })),
      'tryLockAll: wait': ({ session }) => session.tryLockAll(['k'], wrong({ wait: 5 })),
      'release: flag': async ({ session }) => (await session.lock('k')).release(wrong({ flag: 5 })),
      'campaign: timeout': ({ session }) => session.campaign('e', wrong({ timeout: 5 })),
      'tryCampaign: wait': ({ session }) => session.tryCampaign('e', wrong({ wait: 5 })),
      'permit: count': ({ session }) => session.permit('s', wrong({ limit: 1, count: 5 })),
      'tryPermit: wait': ({ session }) => session.tryPermit('s', wrong({ limit: 1, wait: 5 })),
      'limiter: maximum': ({ session }) => session.limiter('l', wrong({ maximum: 5 })),
      'add: timeout': ({ session }) => session.limiter('l', LIMITER).add(wrong({ timeout: 5 })),
      'run: wait': ({ session }) => session.limiter('l', LIMITER).run(async () => {}, wrong({ wait: 5 })),
      'rateLimiter: limit': ({ leasehold }) => leasehold.rateLimiter('r', wrong({ ...RATE, limit: 5 })),
      'tryTake: wait': ({ leasehold }) => leasehold.rateLimiter('r', RATE).tryTake('k', wrong({ wait: 5 })),
      'take: count': ({ leasehold }) => leasehold.rateLimiter('r', RATE).take('k', wrong({ count: 1 })),
      'waitGroup: term': ({ leasehold }) => leasehold.waitGroup('w', wrong({ term: 5 })),
      'add to a group: sealed': async ({ leasehold }) =>
        (await leasehold.waitGroup('w')).add(1, wrong({ sealed: true })),
      'wait of a group: timeout': async ({ leasehold }) => (await leasehold.waitGroup('w')).wait(wrong({ timeout: 5 })),
      'locks.put: ifindex': ({ leasehold }) => leasehold.locks.put('k', 'v', wrong({ ifindex: 5 })),
      'locks.delete: cas': ({ leasehold }) => leasehold.locks.delete('k', wrong({ cas: 5 })),
      'locks.watch: wait': ({ leasehold }) => leasehold.locks.watch('k', wrong({ index: 5, wait: 5 })),
      'locks.forceRelease: lockdelay': ({ leasehold }) =>
        leasehold.locks.forceRelease('k', wrong({ ...WHO, leaseCounter: 5, lockdelay: 5 })),
      'semaphores.evict: lockdelay': ({ leasehold }) =>
        leasehold.semaphores.evict('s', wrong({ ...WHO, token: 5, lockdelay: 5 })),
      'sessions.waitForEnd: timeout': ({ leasehold }) => leasehold.sessions.waitForEnd('s', wrong({ timeout: 5 })),
      'elections.observe: abort': ({ leasehold }) => leasehold.elections.observe('e', wrong({ abort: 5 })).next(),
      'schedules.remove: que': ({ leasehold }) => schedulesOf(leasehold).remove('s', wrong({ que: 'q' })),
      'schedules.list: que': ({ leasehold }) =>
        schedulesOf(leasehold)
          .list(wrong({ que: 'q' }))
          .next(),
      'enqueue: taskId': ({ leasehold }) => leasehold.tasks.enqueue('work', null, wrong({ taskId: 'a' })),
      'rate of a key: limit': ({ leasehold }) =>
        leasehold.tasks.enqueue('work', null, wrong({ key: 'k', rate: { limit: 5 } })),
      'enqueueBatch: callback': ({ leasehold }) =>
        leasehold.tasks.enqueueBatch([spawn('work', 1)], wrong({ id: 'b', callback: 5 })),
      'a child of a batch: taskId': ({ leasehold }) =>
        leasehold.tasks.enqueueBatch([spawn('work', 1, wrong({ taskId: 'a' }))], { id: 'b' }),
      'enqueueAll: concurrency': ({ leasehold }) => leasehold.tasks.enqueueAll([], wrong({ concurrency: 5 })),
      'schedules.define: timezone': ({ leasehold }) =>
        schedulesOf(leasehold).define('s', 'work', null, wrong({ cron: '* * * * *', timezone: 'UTC' })),
      'defineTask: maxAttempts': () => defineTask(wrong({ name: 'n', run, maxAttempts: 5 })),
      'defineTask: timeoutMs': () => defineTask(wrong({ name: 'n', run, timeoutMs: 5 })),
      'retry: attempts': () => defineTask({ name: 'n', run, retry: wrong({ attempts: 5 }) }),
      'cancel: why': ({ leasehold }) => leasehold.operator.cancel('t', wrong({ why: 'so' })),
      'retry: reason': ({ leasehold }) => leasehold.operator.retry('t', wrong({ reason: 'so' })),
      'retryAll: max': ({ leasehold }) => leasehold.operator.retryAll(wrong({ max: 5 })),
      'reschedule: runAt': ({ leasehold }) => leasehold.operator.reschedule('t', wrong({ runAt: 5 })),
      'pause: why': ({ leasehold }) => leasehold.operator.pause(wrong({ why: 'so' })),
    }),
  )('of %s', async (what, act) => {
    expect(await refusal(act)).toMatch(unknownOption(what.replace(/^.*: /, '')));
  });

  test('refuses an unknown name in a commit', async () => {
    let told: unknown;
    const commits = defineTask({
      name: 'commits',
      run: async (_: null, task) => {
        told = await task.commit(1, [], wrong({ spwan: [] })).catch((error: unknown) => error);
      },
    });
    const kit = createTestKit({ tasks: { commits } });
    await kit.tasks.enqueue(commits, null);
    await kit.drain();

    expect(String(told)).toMatch(unknownOption('spwan'));
  });
});

describe('refuses a value that is not an object', () => {
  test.each<[string, (hand: Hand) => unknown]>([
    ['createLeasehold', () => createLeasehold(wrong(null))],
    ['session', ({ leasehold }) => leasehold.session(wrong(null))],
    ['lock', ({ session }) => session.lock('k', wrong('10s'))],
    ['campaign', ({ session }) => session.campaign('e', wrong(null))],
    ['permit', ({ session }) => session.permit('s', wrong(undefined))],
    ['limiter', ({ session }) => session.limiter('l', wrong(5))],
    ['rateLimiter', ({ leasehold }) => leasehold.rateLimiter('r', wrong(undefined))],
    ['enqueue', ({ leasehold }) => leasehold.tasks.enqueue('work', null, wrong(null))],
    ['enqueueAndWait', ({ leasehold }) => leasehold.tasks.enqueueAndWait('work', null, wrong(null))],
    ['pause', ({ leasehold }) => leasehold.operator.pause(wrong(null))],
    ['createTestKit', () => createTestKit(wrong(5))],
    ['createWorker', () => createWorker({ work: defineTask({ name: 'work', run }) }, wrong('mail'))],
    ['createS3Payloads', () => createS3Payloads(wrong(undefined))],
    ['enqueueBatch', ({ leasehold }) => leasehold.tasks.enqueueBatch([spawn('work', 1)], wrong(undefined))],
    ['schedules.define', ({ leasehold }) => schedulesOf(leasehold).define('s', 'work', null, wrong(undefined))],
    ['defineTask', () => defineTask(wrong(undefined))],
    ['retry', () => defineTask({ name: 'n', run, retry: wrong(5) })],
    ['retryAll', ({ leasehold }) => leasehold.operator.retryAll(wrong(5))],
  ])('of %s', async (_what, act) => {
    expect(await refusal(act)).toMatch(/ (are|: )?.*: must be an object(, of |$)/);
  });
});

describe('a value of the wrong kind is refused, and shown as it is', () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;

  test.each(
    Object.entries<(hand: Hand) => unknown>({
      'ttl = 5n: must be milliseconds': ({ leasehold }) => leasehold.session({ ttl: wrong(5n) }),
      'ttl = NaN: must be milliseconds': ({ leasehold }) => leasehold.session({ ttl: NaN }),
      'wait = <ref *1> { self: [Circular *1] }': ({ session }) => session.lock('k', { wait: wrong(circle) }),
      'priority = 5n: must be one of': ({ leasehold }) =>
        leasehold.tasks.enqueue('work', null, { priority: wrong(5n) }),
      'traceparent = 5n: must be a header': ({ leasehold }) =>
        leasehold.tasks.enqueue('work', null, { traceparent: wrong(5n) }),
      [`traceparent = "${TRACE}x": must be a header`]: ({ leasehold }) =>
        leasehold.tasks.enqueue('work', null, { traceparent: `${TRACE}x` }),
      'onDuplicate = 5n: must be one of': ({ leasehold }) =>
        leasehold.tasks.enqueue('work', null, { id: 'a', onDuplicate: wrong(5n) }),
      'the tasks are undefined: pass what their module exports': () => createWorker(wrong(undefined)),
      'task id is of type undefined: must be a string': ({ leasehold }) => leasehold.tasks.get(wrong(undefined)),
      'add("a"): must be a whole number of members, or a list of their ids': async ({ leasehold }) =>
        (await leasehold.waitGroup('w')).add(wrong('a')),
      'lease needs a session: pass session.holder': async ({ leasehold }) =>
        (await leasehold.waitGroup('w')).lease('a', wrong(undefined)),
      'limit and rate require a key': ({ leasehold }) => leasehold.tasks.enqueue('work', null, { limit: 1 }),
      'the task is null: pass': ({ leasehold }) => leasehold.tasks.enqueue(wrong(null), null),
      'the lock keys are "abc": must be a list': ({ session }) => session.lockAll(wrong('abc')),
      'signal = {}: must be an AbortSignal': ({ session }) => session.lock('k', { signal: wrong({}) }),
      'signal = {}: must be an': ({ session }) => session.permit('s', { limit: 1, signal: wrong({}) }),
      'enqueueAll: item 1 is not a task: pass spawn(task, input, options)': ({ leasehold }) =>
        leasehold.tasks.enqueueAll(wrong([{ name: 'work' }])),
      'enqueueAll requires a list of tasks': ({ leasehold }) => leasehold.tasks.enqueueAll(wrong('work')),
      'inFlight = 0: must be a whole number of at least 1': ({ leasehold }) =>
        leasehold.tasks.enqueueAll([], { inFlight: 0 }),
      'limiter l: run(undefined): must be a function': ({ session }) =>
        session.limiter('l', LIMITER).run(wrong(undefined)),
      'choose = 5: must be a function': ({ leasehold }) => leasehold.operator.retryAll({ choose: wrong(5) }),
      'limiter l: limit = NaN: must be a whole number': ({ session }) => session.limiter('l', { limit: NaN }),
      'the generation of wait group w = "x": must be a whole': ({ leasehold }) =>
        leasehold.waitGroup('w', { generation: wrong('x') }),
      'watching lock k: index = NaN: must be a whole': ({ leasehold }) => leasehold.locks.watch('k', { index: NaN }),
      'signal = 5: must be an AbortSignal': ({ leasehold }) =>
        leasehold.elections.observe('e', { signal: wrong(5) }).next(),
      'schedule name is empty': ({ leasehold }) => schedulesOf(leasehold).remove(''),
      'task n: input = { a: 1 }: must be a Standard Schema': () =>
        defineTask({ name: 'n', run, input: wrong({ a: 1 }) }),
      'the value of lock k is not well-formed text': async ({ session }) => (await session.lock('k')).update(wrong(5)),
      'value of lock k is not well-formed text': async ({ session }) =>
        (await session.lock('k')).update(wrong(undefined)),
      'isPayloadOf(undefined, undefined): pass': () => isPayloadOf(wrong(undefined), wrong(undefined)),
      'isPayloadOf("n", null): pass': () => isPayloadOf('n', wrong(null)),
      'connection = undefined: pass what': () => enqueuer(wrong(undefined)),
      'connection = {}: pass what': () => enqueuer(wrong({})),
      'connection = undefined: pass': () => lockSession(wrong(undefined)),
      'connection = null: pass what': () => getTask(wrong(null), 'a'),
    }),
  )('%s', async (message, act) => {
    expect(await refusal(act)).toContain(message);
  });
});
