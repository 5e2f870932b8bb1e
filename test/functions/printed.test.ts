/**
 * Everything that the functions print over a few invocations: log lines and metrics, whole.
 * After an intended change: `npx vitest run test/functions/printed.test.ts -u`, and read the difference.
 */
import { EventEmitter, once } from 'node:events';
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Context } from 'aws-lambda';
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import { ENV, schedulesText } from '../../functions/env.ts';
import { createWorkHandler } from '../../functions/work.ts';
import type { Leasehold } from '../../shared/client/leasehold.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { schedulesOf } from '../../shared/client/schedules-of.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { RowKey } from '../../shared/dynamo/engine/keys.ts';
import { scheduleKey, semaphoreKey, shardOf, taskKey } from '../../shared/dynamo/engine/keys.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { defineSchedule } from '../../shared/tasks/schedule/declaration.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import { DoNotRetry } from '../../shared/tasks/task/control.ts';
import { openInvokeServer } from '../support/invoke-server.ts';
import type { SentRequest } from '../support/printed-lines.ts';
import { damageRow, metricsOf, readableLine, refusingClient } from '../support/printed-lines.ts';
import { whenAborted } from '../support/when-aborted.ts';

const endpoint = inject('embeddedEndpoint') ?? inject('dynamodbLocalEndpoint');
const clientConfig = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };

/** A worker's time, enough to have begun a task on a busy machine. */
const CLAIMED_WITHIN_MS = 7_000;

/** The lines since the last heading. */
let printed: string[] = [];
let table = '';
let client: DynamoDBClient;
let lambda: Awaited<ReturnType<typeof openInvokeServer>>;
/** Ids in the order in which they were first seen. */
let ids: string[] = [];
let invocations = 0;
/** Workers that earlier scenes have started. */
let startedBefore = 0;

beforeEach(async () => {
  [printed, ids, invocations, startedBefore] = [[], [], 0, 0];
  table = `printed-${systemRuntime.ids.unique()}`;
  lambda = await openInvokeServer();
  client = new DynamoDBClient({ endpoint: endpoint ?? '', ...clientConfig });
  await createTable(client, table);
  const variables = {
    [ENV.table]: table,
    [ENV.queue]: 'q',
    [ENV.shards]: '1',
    [ENV.endpoint]: endpoint ?? '',
    [ENV.concurrency]: '1',
    [ENV.deadlineMarginMs]: '1000',
    [ENV.workerFunction]: 'the-worker',
    [ENV.maxWorkers]: '2',
    AWS_ENDPOINT_URL_LAMBDA: lambda.endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    POWERTOOLS_DEV: 'true',
    POWERTOOLS_METRICS_DISABLED: 'false',
    POWERTOOLS_LOG_LEVEL: 'DEBUG',
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  for (const stream of ['debug', 'info', 'warn', 'error', 'log'] as const)
    vi.spyOn(console, stream).mockImplementation((line: unknown) => void printed.push(String(line)));
});

afterEach(async () => {
  client.destroy();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.resetModules();
  await lambda[Symbol.asyncDispose]();
});

const contextOf = (remainingMs: number): Context => {
  const startedAt = systemRuntime.clock.monotonic();
  return {
    functionName: 'the-worker',
    awsRequestId: `invocation-${++invocations}`,
    logStreamName: 'stream',
    getRemainingTimeInMillis: () => remainingMs - (systemRuntime.clock.monotonic() - startedAt),
  } as Context;
};

const damage = (key: RowKey, attribute: string) => damageRow(client, table, key, attribute);
const refusing = (type: string, isRefused: (request: SentRequest) => boolean) =>
  refusingClient(client, endpoint, type, isRefused);

const at = async (queue: string, act: (leasehold: Leasehold) => Promise<unknown>): Promise<void> => {
  using leasehold = createLeasehold({ table, endpoint: endpoint ?? '', clientConfig, queue, shards: 1 });
  await act(leasehold);
};

/** Runs one invocation; returns its heading, what it printed, and its result or its error. */
async function scene(heading: string, invoke: () => Promise<unknown>): Promise<string> {
  printed = [];
  const ended = await invoke().then(
    (result) => `returned ${JSON.stringify(result)}`,
    (error: unknown) => `failed with ${String(error)}`,
  );
  const started = lambda.invoked.slice(startedBefore).map((start) => `started ${JSON.stringify(start)}`);
  startedBefore = lambda.invoked.length;
  // How often a session is renewed depends on the machine, and so does the order of what two tasks print. A busy machine blocks event
  // loops.
  const isOfMachine = (line: string): boolean =>
    line.includes('session renewed') || (!heading.includes('blocks') && /event loop|EventLoopsBlocked/.test(line));
  const logged = printed.filter((line) => !line.includes('"_aws"')).map(readableLine);
  const told = [...logged.sort(), ...metricsOf(printed)].filter((line) => !isOfMachine(line)).map(lasting);
  const toldOnce = told.filter((line, at) => !line.includes('event loop') || line !== told[at - 1]);
  return [`## ${heading}`, ...toldOnce, ...[...started.sort(), ended].map(lasting)].join('\n');
}

/** Replaces what differs from run to run, and drops counts of zero. */
function lasting(text: string): string {
  return text
    .replaceAll(table, 'TABLE')
    .replaceAll(/,?"capacity":\{.*?("throttled":\d+).*?\}\}\}/g, ',"capacity":{$1}')
    .replaceAll(/("(?:\w*(?:Ms|At)|at|leaseCounter)":)-?\d+(?:\.\d+)?/g, '$1"<ms>"')
    .replaceAll(/(?<=[{,])"\w+":0(?:,|(?=\}))/g, '')
    .replaceAll(/for \d+ s at least/g, 'for <s> at least')
    .replaceAll(/\b1\d{12}\b/g, '<ms>')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id) => {
      if (!ids.includes(id)) ids.push(id);
      return `<id ${ids.indexOf(id) + 1}>`;
    })
    .replaceAll(/\\n +at .*?(?=")/g, '<stack>');
}

test.skipIf(endpoint === null)('the worker', async () => {
  const begun = new EventEmitter();
  const retry = { backoff: '4h' } as const;
  const fine = defineTask({ name: 'fine', run: () => 'result' });
  const wrong = defineTask({
    name: 'wrong',
    retry,
    run: (how: string) => {
      throw how === 'no use' ? new DoNotRetry(how) : new TypeError(how, { cause: new Error('the cause') });
    },
  });
  const later = defineTask({ name: 'later', run: (_: unknown, task) => task.snooze('1h') });
  const stopped = async (signal: AbortSignal) => {
    await whenAborted(signal);
    throw signal.reason;
  };
  /** Its first attempt lasts until it is stopped. */
  const hangs = defineTask({
    name: 'hangs',
    run: (_: unknown, task) => {
      begun.emit('hangs');
      return task.attempt > 1 ? undefined : stopped(task.signal);
    },
  });
  const late = defineTask({ name: 'late', retry, timeout: '20ms', run: (_: unknown, task) => stopped(task.signal) });
  /** Lasts until a heartbeat follows the first one. */
  const beats = defineTask({ name: 'beats', run: () => once(begun, 'beaten').then(() => undefined) });
  /** Lasts for three heartbeats, and until the late one. */
  const blocks = defineTask({
    name: 'blocks',
    run: async () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
      await vi.waitFor(() => expect(printed.join()).toContain('event loop blocked'), { timeout: 50_000 });
    },
  });
  const tasks = { fine, wrong, later, hangs, late, beats, blocks };
  const told: string[] = [];
  const run = async (
    heading: string,
    event: object = {},
    { work, ms = 60_000 }: { work?: ReturnType<typeof createWorkHandler>; ms?: number } = {},
  ) =>
    told.push(
      await scene(heading, async () =>
        (work ?? createWorkHandler(tasks))({ queue: 'q', homeShards: [0], ...event }, contextOf(ms)),
      ),
    );

  await run('nothing to do');
  vi.stubEnv(ENV.timedNames, JSON.stringify(['fine', 'nowhere']));
  for (const [heading, name, input, options] of [
    ['a task with times of its own', 'fine', 1, {}],
    ['an attempt that fails', 'wrong', 'boom', { key: 'k', limit: 1 }],
    ['the last attempt', 'wrong', 'boom', { maxAttempts: 1 }],
    ['an error that is not retried', 'wrong', 'no use', {}],
    ['a timeout', 'late', null, {}],
    ['a task that waits', 'later', null, {}],
    ['a task for later', 'fine', null, { delay: '1h' }],
    ['a task that expired', 'fine', null, { expires: '1ms' }],
    ['a task with an unknown name', 'nobody', null, {}],
  ] as const) {
    const queue = heading.replaceAll(' ', '-');
    vi.stubEnv(ENV.queue, queue);
    await at(queue, ({ tasks: client }) => client.enqueue(name, input, { id: 't', ...options }));
    await run(heading, { queue });
    vi.stubEnv(ENV.timedNames, undefined);
  }

  vi.stubEnv(ENV.queue, 'q');
  await at('q', ({ operator }) => operator.pause({ queue: 'q', reason: 'a test' }));
  await run('a paused queue');
  await at('q', ({ operator }) => operator.resume({ queue: 'q' }));
  vi.stubEnv(ENV.queue, 'next');
  await run('a start that follows another worker', { queue: 'next', after: 'the-one-before', generation: 3 });
  await run('the same start, delivered again', { queue: 'next', after: 'the-one-before', generation: 3 });
  await run('a start for another queue');
  vi.stubEnv(ENV.maxWorkers, '3');
  await run('another limit than the one declared', { queue: 'next' });
  vi.stubEnv(ENV.maxWorkers, '1');
  vi.stubEnv(ENV.queue, 'full');
  await at('full', async (leasehold) => {
    const session = await leasehold.session({ ttl: null });
    await session.tryPermit(workersSemaphore('full'), { limit: 1 });
    await run('as many others as there may be', { queue: 'full' });
    await session.end();
  });

  vi.stubEnv(ENV.queue, 'torn');
  await at('torn', ({ tasks: queue }) => queue.enqueue(fine, null, { id: 't' }));
  await damage(taskKey('torn', 't'), 'attempts');
  await run('a damaged row', { queue: 'torn' });

  vi.stubEnv(ENV.queue, 'throttled');
  let requests = 0;
  // The first of the two reads that decide whether it is needed; then the requests that open its session.
  const throttled = refusing('ThrottlingException', () => ++requests === 1 || (4 <= requests && requests <= 6));
  vi.stubEnv(ENV.endpoint, undefined);
  await run('a throttled table', { queue: 'throttled' }, { work: createWorkHandler(tasks, { client: throttled }) });

  vi.stubEnv(ENV.queue, 'not-opened');
  const isOpening = ({ target, body }: SentRequest) => target === 'PutItem' && body.includes('"session#');
  const denied = { client: refusing('AccessDeniedException', isOpening) };
  await run('a session that is not opened', { queue: 'not-opened' }, { work: createWorkHandler(tasks, denied) });

  vi.stubEnv(ENV.queue, 'kept');
  let onPermits = 0;
  const isRelease = ({ target, body }: SentRequest) =>
    target === 'UpdateItem' && body.includes('"permits#') && ++onPermits === 2;
  const held = { client: refusing('AccessDeniedException', isRelease) };
  await run('a permit that is not released', { queue: 'kept' }, { work: createWorkHandler(tasks, held) });

  vi.stubEnv(ENV.queue, 'renewed');
  vi.stubEnv(ENV.heartbeatMs, '500');
  await at('renewed', ({ tasks: queue }) => queue.enqueue(beats, null, { id: 't' }));
  let renewals = 0;
  const isFirstRenewal = ({ target, body }: SentRequest) => {
    if (target !== 'UpdateItem' || !body.includes('"session#')) return false;
    if (++renewals === 2) begun.emit('beaten');
    return renewals === 1;
  };
  const beaten = { client: refusing('AccessDeniedException', isFirstRenewal) };
  await run('a renewal that fails', { queue: 'renewed' }, { work: createWorkHandler(tasks, beaten) });

  vi.stubEnv(ENV.endpoint, endpoint ?? '');
  vi.stubEnv(ENV.queue, 'blocked');
  await at('blocked', ({ tasks: queue }) => queue.enqueue(blocks, null, { id: 't' }));
  await run('a task that blocks the event loop', { queue: 'blocked' });
  vi.stubEnv(ENV.heartbeatMs, undefined);

  vi.stubEnv(ENV.queue, 'end');
  vi.stubEnv(ENV.continuation, '1');
  lambda.fail();
  await at('end', ({ tasks: queue }) => queue.enqueue(hangs, null, { id: 'handed-back' }));
  await run('an end with a task at work', { queue: 'end', slice: { nth: 0, of: 2 } }, { ms: CLAIMED_WITHIN_MS });

  vi.stubEnv(ENV.queue, 'lost');
  vi.stubEnv(ENV.heartbeatMs, '500');
  vi.stubEnv(ENV.concurrency, '2');
  await at('lost', async ({ tasks: queue }) => {
    await queue.enqueue(hangs, null, { id: 'taken-over' });
    await queue.enqueue(hangs, null, { id: 'buried', maxAttempts: 1 });
  });
  const both = once(begun, 'hangs').then(() => once(begun, 'hangs'));
  const lost = run('a session that an operator ends', { queue: 'lost' });
  await both;
  await at('lost', async ({ semaphores, sessions }) => {
    const permits = await semaphores.get(workersSemaphore('lost'));
    for (const { session } of permits?.holders ?? []) await sessions.destroy(session);
  });
  await lost;
  await run('the worker after that', { queue: 'lost' });

  await expect(`${told.join('\n\n')}\n`).toMatchFileSnapshot('./work.golden.txt');
});

test.skipIf(endpoint === null)('the dispatcher and the waker', async () => {
  const told: string[] = [];
  let minute = 0;
  const tick = async (heading: string, scheduledTime = `2026-08-01T00:0${minute++}:00Z`) =>
    told.push(
      await scene(heading, async () =>
        (await import('../../functions/dispatch.ts')).handler({ schedule: 's', scheduledTime }, contextOf(60_000)),
      ),
    );
  const wake = async (heading: string, ...tasks: readonly (readonly [queue: string, id: string])[]) =>
    told.push(
      await scene(heading, async () =>
        (await import('../../functions/wake.ts')).handler(
          {
            Records: tasks.map(([queue, id]) => ({
              eventName: 'INSERT',
              dynamodb: { Keys: { pk: { S: taskKey(queue, id).pk }, sk: { S: 'task' } } },
            })),
          },
          contextOf(60_000),
        ),
      ),
    );
  const enqueue = (queue: string, ...names: readonly string[]) =>
    at(queue, async ({ tasks }) => {
      for (const id of names) await tasks.enqueue('quick', null, { id });
    });
  vi.stubEnv(
    ENV.wakeQueues,
    JSON.stringify(
      ['q', 'other', 'third', 'fourth', 'fifth'].map((queue) => ({
        queue,
        workerFunction: `work-${queue}`,
        shards: 1,
        maxWorkers: 2,
      })),
    ),
  );

  await tick('a tick with nothing to do');
  await tick('the same tick again', '2026-08-01T00:00:00Z');
  await tick('a scheduled time that was not filled in', '<aws.scheduler.scheduled-time>');
  await wake('a task that is gone', ['third', 'gone']);
  await enqueue('q', 'a', 'b', 'c', 'd', 'e');
  await enqueue('other', 'x');
  await enqueue('fourth', 'd');
  await wake(
    'tasks of two queues, and of one that is not deployed',
    ['q', 'a'],
    ['q', 'b'],
    ['other', 'x'],
    ['none', 'y'],
  );
  await tick('a tick with more tasks than workers');

  lambda.fail();
  await enqueue('late', 'a');
  vi.resetModules();
  vi.stubEnv(ENV.queue, 'late');
  await tick('a tick that can start none');

  const { pk, sk } = semaphoreKey(workersSemaphore('other'));
  await client.send(new PutItemCommand({ TableName: table, Item: { pk: { S: pk }, sk: { S: sk } } }));
  await wake('a queue that cannot be read, and one that can', ['fourth', 'd'], ['other', 'x']);
  await wake('none that can be read', ['other', 'x']);

  lambda.fail(Infinity);
  const dispatcherOf = (queue: string): void => {
    vi.resetModules();
    vi.stubEnv(ENV.queue, queue);
  };
  await enqueue('torn', 'torn', 'whole');
  await damage(taskKey('torn', 'torn'), 'attempts');
  dispatcherOf('torn');
  await tick('a tick that meets a damaged row');
  await enqueue('fifth', 'torn');
  await damage(taskKey('fifth', 'torn'), 'attempts');
  await wake('a wake that meets one', ['fifth', 'torn']);
  {
    using wide = createLeasehold({ table, endpoint: endpoint ?? '', clientConfig, queue: 'wide', shards: 2 });
    const inTheSecond = ['a', 'b', 'c', 'd'].find((id) => shardOf(id, 2) === 1) ?? '';
    await wide.tasks.enqueue('quick', null, { id: inTheSecond });
  }
  dispatcherOf('wide');
  await tick('a tick that finds a task in a shard that is not deployed');

  vi.stubEnv(ENV.schedules, schedulesText([defineSchedule('nightly', 'report', null, { cron: '0 3 * * *' })]));
  dispatcherOf('nightly');
  await at('nightly', (leasehold) => schedulesOf(leasehold).define('nightly', 'other', null, { cron: '0 3 * * *' }));
  const readable = await damage(scheduleKey('nightly', 'nightly'), 'task');
  await tick('a tick whose schedules cannot be defined');
  await client.send(new PutItemCommand({ TableName: table, Item: readable }));
  await tick('the next tick, which defines them');
  await at('nightly', async (leasehold) =>
    expect(await schedulesOf(leasehold).get('nightly')).toMatchObject({ task: 'report' }),
  );
  await at('nightly', (leasehold) => schedulesOf(leasehold).remove('nightly'));
  await tick('the tick after that, which does not');
  await at('nightly', async (leasehold) => expect(await schedulesOf(leasehold).get('nightly')).toBeUndefined());
  vi.stubEnv(ENV.schedules, undefined);

  await expect(`${told.join('\n\n')}\n`).toMatchFileSnapshot('./starts.golden.txt');
});
