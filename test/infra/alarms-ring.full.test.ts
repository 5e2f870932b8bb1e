/**
 * Each synthesized alarm, evaluated on the output of the shipped handlers: it rings in its intended state, and not otherwise.
 * AWS's own counts, the errors of a function and the messages in a queue, are computed here as AWS documents them.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { DeleteTableCommand, DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { Context } from 'aws-lambda';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { ENV } from '../../functions/env.ts';
import { METRIC } from '../../functions/metric-names.ts';
import { createWorkHandler } from '../../functions/work.ts';
import { CoordinationTable } from '../../infra/table.ts';
import { TaskWorkers } from '../../infra/task-workers.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import { METRICS_SENT } from '../../shared/operate/cost/standing-cost.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { DoNotRetry } from '../../shared/tasks/task/control.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { AlarmProperties, DataPoint } from '../support/cloudwatch.ts';
import { dataPointsOf, stateAt } from '../support/cloudwatch.ts';
import type { InvokeServer } from '../support/invoke-server.ts';
import { openInvokeServer } from '../support/invoke-server.ts';
import type { Meddler } from '../support/meddler.ts';
import { openMeddler } from '../support/meddler.ts';
import { invokeInProcess } from '../support/worker-process.ts';
import { ENTRY, newApp } from './synthesize.ts';

const upstream = inject('embeddedEndpoint') ?? inject('dynamodbLocalEndpoint');
const clientConfig = { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
const QUEUE = 'media';
const MINUTE_MS = 60_000;
const PERIOD_MS = 5 * MINUTE_MS;
const WORKER_TIMEOUT_MS = 15 * MINUTE_MS;

const table = `alarms-${systemRuntime.ids.unique()}`;
const stack = new Stack(newApp(), 'Theirs');
const tableStreamArn = `arn:aws:dynamodb:us-east-1:123456789012:table/${table}/stream/2026-08-01T00:00:00.000`;
const theirTable = Table.fromTableAttributes(stack, 'Existing', { tableName: table, tableStreamArn });
const existing = CoordinationTable.fromTable(stack, 'Leases', theirTable);
const workers = new TaskWorkers(stack, 'Media', { entry: ENTRY, queue: QUEUE, table: existing });
const alarms = Object.values(Template.fromStack(stack).findResources('AWS::CloudWatch::Alarm')).map(
  ({ Properties }) => Properties as AlarmProperties,
);
const logicalIdOf = (resource: { node: { defaultChild?: unknown } }): string =>
  stack.getLogicalId(resource.node.defaultChild as Parameters<typeof stack.getLogicalId>[0]);

/** The worker's tasks in this file. */
const tasks = {
  fine: defineTask({ name: 'fine', run: () => undefined }),
  poison: defineTask({
    name: 'poison',
    run: () => {
      throw new DoNotRetry('cannot be done');
    },
  }),
  flaky: defineTask({
    name: 'flaky',
    run: () => {
      throw new Error('not now');
    },
  }),
  endless: defineTask({
    name: 'endless',
    run: (_: unknown, { signal }) => wait(60_000, undefined, { signal }),
  }),
  robbed: defineTask({
    name: 'robbed',
    run: async (_: unknown, { queue, signal }) => {
      using leasehold = connectDirectly();
      const permits = await leasehold.semaphores.get(`workers/${queue}`);
      for (const { session } of permits?.holders ?? []) await leasehold.sessions.destroy(session);
      await wait(60_000, undefined, { signal });
    },
  }),
};

describe.skipIf(upstream === null)('an alarm', () => {
  let client: DynamoDBClient;
  let engine: Meddler;
  let lambda: InvokeServer;
  const printed = { text: '' };

  beforeAll(() => {
    client = new DynamoDBClient({ endpoint: upstream ?? '', ...clientConfig });
    return () => client.destroy();
  });

  beforeEach(async () => {
    engine = await openMeddler(upstream ?? '');
    lambda = await openInvokeServer();
    for (const [name, value] of Object.entries(environment(engine.endpoint))) vi.stubEnv(name, value);
    vi.stubEnv('AWS_ENDPOINT_URL_LAMBDA', lambda.endpoint);
    printed.text = '';
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      printed.text += String(chunk);
      return true;
    });
    await createTable(client, table);
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    vi.resetModules();
    await engine[Symbol.asyncDispose]();
    await lambda[Symbol.asyncDispose]();
    await client.send(new DeleteTableCommand({ TableName: table }));
  });

  test('rings for none of them while tasks are done and ticks come', async () => {
    // An empty queue costs one metric.
    expect(await tick()).toEqual([expect.objectContaining({ name: METRIC.oldestReadyTaskAgeMs, value: 0 })]);
    for (let n = 0; n < 3; n++) await enqueue('fine', `t${n}`);
    const healthy = [...(await tick()), ...(await work())];

    // Also exactly the metrics that the cost estimate counts; the only missing one is sent while a worker lives.
    const names = new Set([...healthy.map(({ name }) => name), METRIC.workersLive]);
    expect(names.size).toBe(METRICS_SENT.always + METRICS_SENT.withTasks);
    expect(ringing(everyPeriod(healthy))).toEqual([]);
  });

  test('rings for a task that died, by one report', async () => {
    await enqueue('poison', 'p');

    expect(ringing([...ticking(), ...(await work())])).toEqual(['dead-tasks']);
  });

  test('rings for a task that has been failing for ten minutes, by one report', async () => {
    await enqueue('flaky', 'f');
    await work();
    await update(
      'task#media#f',
      'SET failingSince = :a, readyAt = :b',
      Date.now() - 11 * MINUTE_MS,
      Date.now() - 1_000,
    );

    expect(ringing([...ticking(), ...(await work())])).toEqual(['failing-tasks']);
  });

  test('rings for workers that go on losing their sessions', async () => {
    await enqueue('robbed', 'r');

    const lost = await work();

    expect(ringing([...ticking(), ...lost])).toEqual([]);
    expect(ringing(everyPeriod([...(await tick()), ...lost]))).toEqual(['lost-leases']);
  });

  test('rings for claims that rivals win', async () => {
    for (let n = 0; n < 120; n++) await enqueue('fine', `t${n}`);
    let claims = 0;
    engine.meddle(async ({ operation, body }) => {
      const key = body.Key?.pk?.S ?? '';
      const isClaim =
        operation === 'UpdateItem' && key.startsWith('task#') && body.UpdateExpression?.includes('#claimedAt = ');
      if (isClaim && ++claims % 3 === 0) await update(key, 'ADD leaseCounter :a SET note = :b', 1, 1);
      return undefined;
    });

    expect(ringing([...ticking(), ...everyPeriod(await work())])).toEqual(['refused-claims']);
  });

  test('rings for a table that throttles', async () => {
    for (let n = 0; n < 5; n++) await enqueue('fine', `t${n}`);
    let writes = 0;
    engine.meddle(({ operation }) =>
      operation === 'UpdateItem' && ++writes % 3 === 0 ? Promise.resolve('ThrottlingException') : undefined,
    );

    expect(ringing([...ticking(), ...everyPeriod(await work())])).toEqual(['throttles']);
  });

  test('rings for rows that stay damaged', async () => {
    await enqueue('fine', 'd');
    await update('task#media#d', 'SET attempts = :a, v = :b', -5, 1);

    expect(ringing([...ticking(), ...everyPeriod(await work())])).toEqual(['skipped-rows']);
  });

  test('rings for a task that is handed back again without progress, by one report', async () => {
    await enqueue('endless', 'e');
    await update('task#media#e', 'SET handBacks = :a, note = :b', 1, 1);

    expect(ringing([...ticking(), ...(await work(contextOf(8_000)))])).toEqual(['stalled-tasks']);
  });

  test('rings for tasks whose names no worker knows', async () => {
    await enqueue('elsewhere', 'u');

    expect(ringing([...ticking(), ...everyPeriod(await work())])).toEqual(['unknown-tasks']);
  });

  test('rings for a task that waits for too long, by the reports of ticks', async () => {
    await enqueue('fine', 'w');
    await update('task#media#w', 'SET readyAt = :a, note = :b', Date.now() - 11 * MINUTE_MS, 1);

    expect(ringing(everyPeriod(await tick()))).toEqual(['oldest-ready-task']);
  });

  test('rings for ticks that are no more', () => {
    expect(ringing([])).toEqual(['oldest-ready-task']);
  });

  test('rings for a dispatcher that can start no worker', async () => {
    await enqueue('fine', 't');
    lambda.fail();
    const { handler } = await import('../../functions/dispatch.ts');
    const failed = await handler({ schedule: 's', scheduledTime: '2026-08-01T00:00:00Z' }, contextOf(60_000)).then(
      () => 0,
      () => 1,
    );

    const errors = errorsOf(workers.dispatcher.function, failed, Date.now());
    expect(ringing([...everyPeriod(dataPointsOf(printed.text)), ...everyPeriod(errors)])).toEqual([
      'dispatcher-errors',
    ]);
  });

  test.each([0, 7, WORKER_TIMEOUT_MS / MINUTE_MS])(
    'rings for a worker that died %i minutes after its invocation began, whose error is dated back as far',
    async (minutes) => {
      await enqueue('fine', 'f');
      await enqueue('exit', 'x');
      const died = await invokeInProcess({ environment: environment(engine.endpoint), others: 1 });
      const errors = errorsOf(workers.worker.function, Number(died.code !== 0), Date.now() - minutes * MINUTE_MS);

      expect(ringing([...ticking(), ...dataPointsOf(died.stdout), ...errors])).toEqual(['worker-errors']);
    },
  );

  test('rings for a waker that goes on failing, and not for one failure that its next try mends', async () => {
    vi.stubEnv(ENV.table, 'no-such-table');
    vi.stubEnv(ENV.wakeQueues, JSON.stringify([{ queue: QUEUE, workerFunction: 'the-worker' }]));
    const { handler } = await import('../../functions/wake.ts');
    const keys = { pk: { S: `task#${QUEUE}#t` }, sk: { S: 'task' } };
    const event = { Records: [{ eventName: 'INSERT' as const, dynamodb: { Keys: keys } }] };
    const failed = await handler(event, contextOf(60_000)).then(
      () => 0,
      () => 1,
    );
    const errors = errorsOf(waker, failed, Date.now());

    expect(ringing([...ticking(), ...everyPeriod(errors)])).toEqual(['waker-failing']);
    expect(ringing([...ticking(), ...errors])).toEqual([]);
  });

  test.each([
    ['rings for a waker that reads what was inserted half a minute ago', 31_000, ['waker-late']],
    ['does not ring for one that is a few seconds late', 4_000, []],
  ])('%s', (_what, ageMs, expected) => {
    const late = ofFunction(waker, 'IteratorAge', ageMs);

    expect(ringing([...ticking(), ...everyPeriod(late)])).toEqual(expected);
  });

  test('rings for a waker that is silent while tasks are inserted, and not when it is invoked', async () => {
    await enqueue('fine', 't');
    const claimed = everyPeriod(await work());

    expect(ringing([...ticking(), ...claimed], NOT_INVOKED)).toEqual(['waker-silent']);
    expect(ringing([...ticking(), ...claimed])).toEqual([]);
  });

  test('does not ring for a silent waker while a backlog drains into which nothing is inserted', async () => {
    await enqueue('fine', 'old');
    await update('task#media#old', 'SET createdAt = :a, note = :b', Date.now() - 11 * MINUTE_MS, 1);
    await enqueue('fine', 'again');
    await update('task#media#again', 'SET generation = :a, note = :b', 1, 1);

    const drained = await work();
    expect(drained.filter(({ name }) => name === 'TasksCompleted').map(({ value }) => value)).toEqual([2]);
    expect(ringing([...ticking(), ...everyPeriod(drained)], NOT_INVOKED)).toEqual([]);
  });

  test.each([
    ['worker events that are dropped', () => ofFunction(workers.worker.function, 'AsyncEventsDropped', 1)],
    ['workers that are throttled', () => ofFunction(workers.worker.function, 'Throttles', 1)],
    ['a dispatcher that is throttled', () => ofFunction(workers.dispatcher.function, 'Throttles', 1)],
  ])('rings for %s again and again, and not for one', (_what, points) => {
    expect(ringing([...ticking(), ...everyPeriod(points())])).toEqual(['starts-dropped']);
    expect(ringing([...ticking(), ...points()])).toEqual([]);
  });

  test('rings for ticks that were not delivered', () => {
    const letters: DataPoint = {
      namespace: 'AWS/SQS',
      name: 'ApproximateNumberOfMessagesVisible',
      value: 1,
      at: Date.now(),
      dimensions: { QueueName: logicalIdOf(workers.dispatcher.deadLetters) },
    };

    expect(ringing([...ticking(), letters])).toEqual(['schedule-dead-letters']);
  });

  async function work(context = contextOf(60_000)): Promise<DataPoint[]> {
    const before = printed.text.length;
    await createWorkHandler(tasks)({ queue: QUEUE, homeShards: [0] }, context);
    return dataPointsOf(printed.text.slice(before));
  }

  async function tick(): Promise<DataPoint[]> {
    const before = printed.text.length;
    const { handler } = await import('../../functions/dispatch.ts');
    await handler({ schedule: 's', scheduledTime: systemRuntime.ids.unique() }, contextOf(60_000));
    return dataPointsOf(printed.text.slice(before));
  }

  async function enqueue(name: string, id: string): Promise<void> {
    using leasehold = connectDirectly();
    await leasehold.tasks.enqueue(name, {}, { id });
  }

  /** As time, a rival or an accident would have left the row. */
  async function update(pk: string, expression: string, a: number, b: number): Promise<void> {
    await client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: { pk: { S: pk }, sk: { S: 'task' } },
        UpdateExpression: expression,
        ExpressionAttributeValues: { ':a': { N: String(a) }, ':b': { N: String(b) } },
      }),
    );
  }
});

function environment(endpoint: string): Record<string, string> {
  return {
    [ENV.table]: table,
    [ENV.queue]: QUEUE,
    [ENV.shards]: '1',
    [ENV.endpoint]: endpoint,
    [ENV.deadlineMarginMs]: '2000',
    [ENV.workerFunction]: 'the-worker',
    [ENV.continuation]: '0',
    // Longer than a busy machine keeps a heartbeat waiting.
    [ENV.sessionTtlMs]: '60000',
    [ENV.heartbeatMs]: '500',
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    POWERTOOLS_LOG_LEVEL: 'SILENT',
    POWERTOOLS_DEV: 'false',
  };
}

function connectDirectly() {
  return createLeasehold({ table, endpoint: upstream ?? '', clientConfig, queue: QUEUE, shards: 1 });
}

function contextOf(remainingMs: number): Context {
  const startedAt = performance.now();
  return {
    functionName: 'the-worker',
    awsRequestId: systemRuntime.ids.unique(),
    logStreamName: 'stream',
    getRemainingTimeInMillis: () => remainingMs - (performance.now() - startedAt),
  } as Context;
}

const waker = { node: { defaultChild: workers.waker?.function.node.defaultChild } };
const NOT_INVOKED: DataPoint[] = [];

/** The runbooks of the alarms that ring within twenty minutes from now, with an invoked waker by default. */
function ringing(reported: readonly DataPoint[], invocations = everyPeriod(ofFunction(waker, 'Invocations', 1))) {
  const points = [...reported, ...invocations];
  const minutes = Array.from({ length: 20 }, (_, n) => Date.now() + n * MINUTE_MS);
  return alarms
    .filter((alarm) => minutes.some((minute) => stateAt(alarm, points, minute) === 'ALARM'))
    .map(({ AlarmDescription }) => AlarmDescription.split('#runbook-')[1] ?? '')
    .sort();
}

/** The same state, reported again in each period of the hour before and after. */
function everyPeriod(points: readonly DataPoint[]): DataPoint[] {
  return Array.from({ length: 24 }, (_, n) => (n - 12) * PERIOD_MS).flatMap((shift) =>
    points.map((point) => ({ ...point, at: point.at + shift })),
  );
}

/** A healthy tick each period, for alarms that also need ticks. */
function ticking(): DataPoint[] {
  const dimensions = { service: 'leasehold', table, queue: QUEUE };
  return everyPeriod([{ namespace: 'Leasehold', name: 'OldestReadyTaskAgeMs', dimensions, value: 0, at: Date.now() }]);
}

/** Lambda dates an error back to the beginning of its invocation. */
function errorsOf(of: { node: { defaultChild?: unknown } }, value: number, invokedAt: number): DataPoint[] {
  return ofFunction(of, 'Errors', value, invokedAt);
}

function ofFunction(of: { node: { defaultChild?: unknown } }, name: string, value: number, at = Date.now()) {
  return [{ namespace: 'AWS/Lambda', name, dimensions: { FunctionName: logicalIdOf(of) }, value, at }];
}
