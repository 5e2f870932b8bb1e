/** Ways in which an attempt can end: for `attempts.test.ts`. */
import * as z from 'zod';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { stampOf } from '../../../../shared/core/lease/write.ts';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import type { SessionHolder } from '../../../../shared/session/keep-alive.ts';
import type { SessionStore } from '../../../../shared/session/session-store.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import { DoNotRetry, HandedBackError, RetryAfter } from '../../../../shared/tasks/task/control.ts';
import type { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { EnqueueOptions } from '../../../../shared/tasks/queue/task-client.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { ReadyTask, RunningTask } from '../../../../shared/tasks/task/task.ts';
import { INPUT_LIMIT_BYTES } from '../../../../shared/tasks/task/task.ts';
import { taskKey } from '../../../../shared/dynamo/engine/keys.ts';
import { loseNextAnswer } from '../../../support/lost-answer.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { QUEUE } from '../../../support/memory-queue.ts';

export interface Tools {
  readonly q: MemoryQueue;
  readonly driver: DynamoDriver;
  readonly session: SessionHolder;
  readonly sessions: SessionStore;
  readonly say: (what: string) => void;
  readonly handBack: (reason: Error) => void;
}

export interface Scene {
  readonly input?: unknown;
  readonly options?: EnqueueOptions;
  readonly define?: Partial<Parameters<typeof defineTask>[0]>;
  readonly before?: (tools: Tools) => Promise<unknown>;
  /** Changes of the task as it is claimed. */
  readonly claimed?: Partial<RunningTask>;
  readonly after?: (tools: Tools, task: RunningTask) => Promise<unknown>;
  readonly run: (input: never, task: TaskContext, tools: Tools) => unknown;
  /** An operation of the store that fails: it is away. */
  readonly fails?: string;
  /** Other tasks to show at the end. */
  readonly others?: readonly string[];
}

export type Run = Scene['run'];

const fails: Run = () => Promise.reject(Object.assign(new Error('boom'), { stack: 'the stack' }));
const nothing: Run = () => undefined;

/** Sleeps until it must stop, and then ends as `then` says. */
const untilStopped =
  (then: Run): Run =>
  async (input, task, tools) => {
    await new Promise((stopped) => {
      task.signal.addEventListener('abort', stopped, { once: true });
    });
    tools.say(`told to stop: ${(task.signal.reason as Error).name}, ${task.remainingMs()} ms remain`);
    return then(input, task, tools);
  };
const stops = untilStopped((_, task) => Promise.reject(task.signal.reason as Error));
const ignores: Run = () => Promise.withResolvers<undefined>().promise;

/** After a second, something happens while the code runs. */
const during =
  (act: (tools: Tools, task: TaskContext) => unknown, then: Run): Run =>
  (input, task, tools) => {
    void tools.q.clock.sleep(1_000).then(() => act(tools, task));
    return then(input, task, tools);
  };
const told: Run = async (_, task, tools) => {
  const answer = await task.saveProgress(2).catch((error: unknown) => String(error));
  tools.say(`progress: ${String(answer)}`);
};

const handBack =
  (isDeadline: boolean) =>
  ({ handBack: hand }: Tools) =>
    hand(new HandedBackError('enough', { isDeadline }));
const cancel = async ({ q, session }: Tools, { id }: Pick<TaskContext, 'id'>) => {
  const task = (await q.tasks.get({ queue: QUEUE, id })) as RunningTask;
  if (task.session !== session.id) throw new Error('it has another holder');
  await q.operations.requestCancel(task, { at: q.clock.now(), reason: 'not wanted' }, stampOf(q.runtime));
};
const takeOver = async ({ q }: Tools, { id }: Pick<TaskContext, 'id'>) => {
  const task = (await q.tasks.get({ queue: QUEUE, id })) as RunningTask;
  await q.tasks.takeOver(task, 'other', stampOf(q.runtime));
};
const loseSession = ({ session }: Tools) => session.end();
const follow = (tools: Tools) =>
  tools.q.client.enqueue('work', 'next', { id: 't', onDuplicate: 'debounce', delay: '1m' });
const write = (key: string, condition = {}) => ({
  Put: { TableName: 'leasehold', Item: { pk: key, sk: 'user' }, ...condition },
});
const REFUSED = { ConditionExpression: 'attribute_exists(#pk)', ExpressionAttributeNames: { '#pk': 'pk' } };
const caught =
  (act: (task: TaskContext) => Promise<unknown>): Run =>
  async (_, task, { say }) => {
    await act(task).catch((error: unknown) => say(`refused: ${String(error)}`));
    return 'went on';
  };
/** No request is answered from now on. */
const goDown = ({ driver }: Tools) => {
  driver.attempt = () => Promise.reject(new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' }));
};
const LARGE = 'x'.repeat(INPUT_LIMIT_BYTES);
const takeIdOfChild = ({ q }: Tools) => q.client.enqueue('child', 1, { id: 'c' });
/** A copy of the refused operation arrives before the bar, when the id of the child is free again. */
const copyBeforeBar =
  (verb: 'commit' | 'waitForChildren'): NonNullable<Scene['after']> =>
  ({ q: { tasks, table }, driver }) => {
    const [send, bar] = [tasks[verb].bind(tasks) as (...given: unknown[]) => Promise<never>, tasks.bar.bind(tasks)];
    let copy: (() => Promise<unknown>) | undefined;
    tasks[verb] = (...given: unknown[]) => {
      copy ??= () => send(...given);
      return send(...given);
    };
    tasks.bar = async (...given) => {
      const request = { TableName: table, Key: { ...taskKey(QUEUE, 'c') } };
      await driver.attempt('delete', request, new AbortController().signal);
      await copy?.();
      return bar(...given);
    };
    return Promise.resolve();
  };

export const SCENES: Readonly<Record<string, Scene>> = {
  'returns a value': { run: () => ({ n: 1 }) },
  'returns nothing': { run: nothing },
  'returns what JSON does not have': { run: () => 2n },
  throws: { run: fails },
  'throws a text': {
    // Task code can throw anything.
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors
    run: () => Promise.reject('text'),
  },
  'throws at its last attempt': { options: { maxAttempts: 1 }, run: fails },
  'throws at the last attempt of its definition': { define: { retry: { maxAttempts: 1 } }, run: fails },
  'throws after other attempts': { claimed: { attempts: 3 }, run: fails },
  'throws DoNotRetry': { run: () => Promise.reject(new DoNotRetry('never')) },
  'throws RetryAfter': { run: () => Promise.reject(new RetryAfter('90s', 'later')) },
  'throws RetryAfter at its last attempt': {
    options: { maxAttempts: 1 },
    run: () => Promise.reject(new RetryAfter('90s', 'later')),
  },
  'has an input that does not fit': { input: 1, define: { input: z.string() }, run: nothing },
  'fails for an outage of our store': {
    run: () => Promise.reject(new StoreUnavailableError('away', { applied: 'no' })),
  },
  'fails for an outage after a minute of failures': {
    claimed: { failingSince: Date.parse('2025-12-31T23:59:30Z') },
    run: () => Promise.reject(new StoreUnavailableError('away', { applied: 'no' })),
  },
  'fails for an outage after a day of failures': {
    claimed: { failingSince: Date.parse('2025-12-30T00:00:00Z') },
    run: () => Promise.reject(new StoreUnavailableError('away', { applied: 'no' })),
  },
  'fails for an outage at its only attempt': {
    options: { maxAttempts: 1 },
    run: () => Promise.reject(new StoreUnavailableError('away', { applied: 'no' })),
  },
  'has a timeout, and ends in time': {
    options: { timeout: '5s' },
    run: (_, task, { say }) => say(`${task.remainingMs()} ms`),
  },
  'times out, and stops': { options: { timeout: '5s' }, run: stops },
  'times out, and does not stop': { options: { timeout: '5s' }, run: ignores },
  'times out, and returns': { options: { timeout: '5s' }, run: untilStopped(() => 'in time') },
  'times out, and throws DoNotRetry': {
    options: { timeout: '5s' },
    run: untilStopped(() => Promise.reject(new DoNotRetry('never'))),
  },
  'is handed back, and stops': { run: during(handBack(false), stops) },
  'is handed back, and does not stop': { run: during(handBack(false), ignores) },
  'is handed back, and returns': {
    run: during(
      handBack(false),
      untilStopped(() => 'in time'),
    ),
  },
  'is handed back, and commits': {
    run: during(
      handBack(false),
      untilStopped((_, task) => task.commit('in time')),
    ),
  },
  'is handed back at the deadline of a late start': { run: during(handBack(true), stops) },
  'is handed back after most of a life': {
    run: (input, task, tools) => {
      void tools.q.clock.sleep(40_000).then(() => handBack(true)(tools));
      return stops(input, task, tools);
    },
  },
  'is handed back after most of a life, with progress': {
    run: async (input, task, tools) => {
      void tools.q.clock.sleep(40_000).then(() => handBack(true)(tools));
      await task.saveProgress({ page: 1 });
      return stops(input, task, tools);
    },
  },
  'is handed back for the fifth time': {
    claimed: { handBacks: 4 },
    run: (input, task, tools) => {
      void tools.q.clock.sleep(40_000).then(() => handBack(true)(tools));
      return stops(input, task, tools);
    },
  },
  'is handed back before it begins': { after: async (tools) => handBack(false)(tools), run: nothing },
  'is cancelled, and stops': { run: during(cancel, stops) },
  'is cancelled, and does not stop': { run: during(cancel, ignores) },
  'is cancelled, and returns': {
    run: during(
      cancel,
      untilStopped(() => 'all the same'),
    ),
  },
  'is cancelled, and throws DoNotRetry': {
    run: during(
      cancel,
      untilStopped(() => Promise.reject(new DoNotRetry('never'))),
    ),
  },
  'was cancelled before it began': { claimed: { cancellation: { at: 1, reason: 'not wanted' } }, run: nothing },
  'is cancelled while it fails': {
    run: async (input, task, tools) => {
      await cancel(tools, task);
      return fails(input, task, tools);
    },
  },
  'loses its session, and stops': { run: during(loseSession, stops) },
  'loses its session, and does not stop': { run: during(loseSession, ignores) },
  'loses its session, and goes on': { run: during(loseSession, untilStopped(told)) },
  'is taken over, and saves progress': {
    run: async (input, task, tools) => {
      await takeOver(tools, task);
      return told(input, task, tools);
    },
  },
  'is taken over, saves progress, and does not stop': {
    run: async (input, task, tools) => {
      await takeOver(tools, task);
      await told(input, task, tools);
      return ignores(input, task, tools);
    },
  },
  'is taken over, and returns': { run: async (_input, task, tools) => takeOver(tools, task) },
  'is taken over, and throws': {
    run: async (input, task, tools) => {
      await takeOver(tools, task);
      return fails(input, task, tools);
    },
  },
  'commits with a write': { run: (_, task) => task.commit('result', [write('user#1')]) },
  'commits, and throws': {
    run: async (input, task, tools) => {
      await task.commit('result');
      return fails(input, task, tools);
    },
  },
  'commits, and saves progress': {
    run: async (input, task, tools) => {
      await task.commit('result');
      return told(input, task, tools);
    },
  },
  'commits with a write that is refused': { run: caught((task) => task.commit('result', [write('user#1', REFUSED)])) },
  'commits what is not a write': { run: caught((task) => task.commit('result', [{}])) },
  'commits with children': {
    options: { tenant: 'acme' },
    run: (_, task) =>
      task.commit('result', [], { spawn: [spawn('child', 1, { id: 'c' }), spawn('child', 2, { id: 'd' })] }),
    others: ['c', 'd'],
  },
  'commits with a child whose id is taken': {
    before: ({ q }) => q.client.enqueue('child', 1, { id: 'c' }),
    run: caught((task) => task.commit('result', [write('user#1')], { spawn: [spawn('child', 1, { id: 'c' })] })),
  },
  'commits with a child whose id is taken, and a copy is applied before the bar': {
    input: LARGE,
    before: takeIdOfChild,
    after: copyBeforeBar('commit'),
    run: (_, task) => task.commit('result', [], { spawn: [spawn('child', 2, { id: 'c' })] }),
    others: ['c'],
  },
  'waits for a child whose id is taken, and a copy is applied before the bar': {
    input: LARGE,
    before: takeIdOfChild,
    after: copyBeforeBar('waitForChildren'),
    run: (_, task) => task.waitFor([spawn('child', 2, { id: 'c' })]),
    others: ['c'],
  },
  snoozes: { run: (_, task) => task.snooze('1m') },
  'waits for children': {
    run: (_, task) => task.waitFor([spawn('child', 1, { id: 'c' }), spawn('child', 2, { id: 'd' })]),
    others: ['c', 'd'],
  },
  'waits for children of another queue': {
    run: caught((task) => task.waitFor([spawn('child', 1, { id: 'c', queue: 'other' })])),
  },
  'saves the progress that it had': {
    run: async (_, task) => {
      await task.saveProgress({ page: 1 });
      await task.saveProgress({ page: 2 });
    },
  },
  'saves progress twice at once': {
    run: async (_, task) => {
      await Promise.all([task.saveProgress(1), task.saveProgress(2)]);
    },
  },
  'commits twice at once': {
    run: caught((task) => Promise.all([task.commit('first'), task.commit('second')])),
  },
  'saves progress and commits at once': {
    run: caught((task) => Promise.all([task.commit('result'), task.saveProgress(1)])),
  },
  'commits a refused write, and another at once': {
    run: caught((task) => Promise.all([task.commit('first', [write('user#1', REFUSED)]), task.commit('second')])),
  },
  'returns while it saves progress': {
    run: (_, task) => {
      void task.saveProgress(1);
    },
  },
  'is cancelled while it fails, and moved before it can be cancelled': {
    run: async (input, task, tools) => {
      await cancel(tools, task);
      const { tasks, operations, runtime } = tools.q;
      const cancelling = tasks.cancel.bind(tasks);
      tasks.cancel = async (ready, ...rest) => {
        await operations.reschedule(ready as ReadyTask, { priority: 'low', runAt: 1 }, stampOf(runtime));
        return cancelling(ready, ...rest);
      };
      return fails(input, task, tools);
    },
  },
  'is followed, and returns': { after: follow, run: nothing },
  'is followed, and throws': { after: follow, run: fails },
  'is followed, and throws at its last attempt': { options: { maxAttempts: 1 }, after: follow, run: fails },
  'is followed, and snoozes': { after: follow, run: (_, task) => task.snooze('1m') },
  'is followed, and commits': { after: follow, run: (_, task) => task.commit() },
  'is followed, and waits for children': {
    after: follow,
    run: (_, task) => task.waitFor([spawn('child', 1, { id: 'c' })]),
    others: ['c'],
  },
  'is followed, and handed back': { after: follow, run: during(handBack(false), stops) },
  'has a payload, and returns': { input: LARGE, run: (input: string) => input.length },
  'has a payload, and throws': { input: LARGE, run: fails },
  'has a payload, and is followed': {
    input: LARGE,
    after: follow,
    run: fails,
  },
  'has a payload that is gone': {
    input: LARGE,
    after: ({ q }, task) => q.tasks.deletePayload(task, task.payload as never),
    run: nothing,
  },
  'has a key': { options: { key: 'k', limit: 2 }, run: nothing },
  'has a line': { options: { key: 'k', ordered: true }, run: nothing },
  'completes, and the answer is lost': {
    run: (_, __, { driver }) => loseNextAnswer(driver, () => Promise.resolve()),
  },
  'fails, and the answer is lost, and others have taken it since': {
    run: (input, task, tools) => {
      loseNextAnswer(tools.driver, async () => {
        const ready = (await tools.q.tasks.get({ queue: QUEUE, id: task.id })) as never;
        await tools.q.tasks.cancel(ready, { at: 1, reason: 'x' }, stampOf(tools.q.runtime));
      });
      return fails(input, task, tools);
    },
  },
  'ends in an outage': { run: (_, __, tools) => goDown(tools) },
  'ends in an outage, and is handed back': {
    run: (_, __, tools) => {
      void tools.q.clock.sleep(1_000).then(() => handBack(false)(tools));
      goDown(tools);
    },
  },
  'fails, and its stack cannot be kept': { run: fails, fails: 'keepFailure' },
  'has a payload that cannot be removed': { input: LARGE, run: nothing, fails: 'deletePayload' },
  'is cancelled while it fails, and cannot be cancelled afterwards': {
    run: async (input, task, tools) => {
      await cancel(tools, task);
      return fails(input, task, tools);
    },
    fails: 'cancel',
  },
  'commits with a write that is refused, and no bar can be raised': {
    run: caught((task) => task.commit('result', [write('user#1', REFUSED)])),
    fails: 'bar',
  },
};
