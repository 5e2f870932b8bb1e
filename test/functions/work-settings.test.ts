/** The worker's settings of an invocation: from its event and its variables, and the module's own events and payloads. */
import type { Context } from 'aws-lambda';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import { ENV } from '../../functions/env.ts';
import type { WorkHandlerOptions } from '../../functions/work.ts';
import { createWorkHandler } from '../../functions/work.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import { MAX_SHARDS } from '../../shared/tasks/task/task.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { runWorker } from '../../shared/tasks/worker/run-worker.ts';
import { dataPointsOf } from '../support/cloudwatch.ts';

type Worker = typeof runWorker;
const worker = vi.hoisted(() => ({ run: vi.fn() }));
vi.mock('../../shared/tasks/worker/run-worker.ts', () => ({ runWorker: worker.run }));
vi.mock('../../shared/tasks/tracing/task-spans.ts', async (original) => ({
  ...(await original()),
  TaskSpans: class {
    readonly attempts: unknown;
    constructor(_tracing: unknown, attempts: unknown) {
      this.attempts = attempts;
    }
  },
}));

const endpoint = inject('embeddedEndpoint') ?? inject('dynamodbLocalEndpoint');
const REMAINING_MS = 60_000;
const lines: string[] = [];

beforeEach(async () => {
  const table = `settings-${systemRuntime.ids.unique()}`;
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = new DynamoDBClient({ endpoint: endpoint ?? '', region: 'us-east-1', credentials });
  if (endpoint !== null) await createTable(client, table);
  client.destroy();
  const variables = {
    [ENV.table]: table,
    [ENV.queue]: 'q',
    [ENV.shards]: '3',
    [ENV.endpoint]: endpoint ?? '',
    [ENV.concurrency]: '7',
    [ENV.lingerMs]: '4000',
    [ENV.startWithinMs]: '9000',
    [ENV.deadlineMarginMs]: '5000',
    [ENV.attemptSpans]: 'link',
    [ENV.codeVersion]: 'a1b2c3',
    POWERTOOLS_DEV: 'true',
    POWERTOOLS_LOG_LEVEL: 'SILENT',
    POWERTOOLS_METRICS_DISABLED: 'false',
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  for (const stream of ['info', 'warn', 'log'] as const)
    vi.spyOn(console, stream).mockImplementation((line: unknown) => void lines.push(String(line)));
  worker.run.mockReset().mockResolvedValue(DRAINED);
  lines.length = 0;
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

async function invoke(event: object, exports: object = {}, options: WorkHandlerOptions = {}) {
  const context = { logStreamName: 'stream', awsRequestId: 'r', getRemainingTimeInMillis: () => REMAINING_MS };
  const task = defineTask({ name: 'task', run: () => undefined });
  await createWorkHandler({ task, ...exports }, options)({ queue: 'q', ...event } as never, context as Context);
  return worker.run.mock.lastCall as Parameters<Worker>;
}

const ALL = [0, 1, 2];
const DRAINED = { ended: 'drained', damaged: 0, settled: { lost: 0, unsettled: 0 } };

test.skipIf(endpoint === null)('its event chooses where it begins, whatever else the event says', async () => {
  const chosen = [];
  for (const event of [
    {},
    { homeShards: [] },
    { homeShards: 'all' },
    { homeShards: [2] },
    { homeShards: [2, 1, 2, 0.5, -1, '0', null] },
    // Clients may know more shards than are deployed.
    { homeShards: [MAX_SHARDS - 1, MAX_SHARDS] },
    { slice: { nth: 0, of: 2 } },
    { slice: { nth: 1, of: 2, more: true } },
    { slice: { nth: 2, of: 2 } },
    { slice: { nth: -1, of: 2 } },
    { slice: { nth: 0.5, of: 2 } },
    { slice: 'half' },
    { tasks: ['a', '', 5, null, 'b'] },
    { tasks: 'a' },
    { tasks: Array.from({ length: 30 }, (_, nth) => `t${nth}`) },
  ]) {
    const [, , { homeShards, slice, named }] = await invoke(event);
    chosen.push([homeShards, slice, named]);
  }

  expect(chosen).toEqual([
    ...Array.from({ length: 3 }, () => [ALL, undefined, []]),
    [[2], undefined, []],
    [[2, 1], undefined, []],
    [[MAX_SHARDS - 1], undefined, []],
    [ALL, { nth: 0, of: 2 }, []],
    [ALL, { nth: 1, of: 2 }, []],
    ...Array.from({ length: 4 }, () => [ALL, undefined, []]),
    [ALL, undefined, ['a', 'b']],
    [ALL, undefined, []],
    [ALL, undefined, Array.from({ length: 25 }, (_, nth) => `t${nth}`)],
  ]);
});

test.skipIf(endpoint === null)('its variables are the settings of the worker', async () => {
  const before = systemRuntime.clock.monotonic();

  const [registry, { spans, session }, { deadlineMonotonicMs, ...settings }, signal] = await invoke({});

  expect([...registry.keys()]).toEqual(['task']);
  expect(session.record).toMatchObject({
    name: 'worker/q',
    node: 'stream',
    codeVersion: 'a1b2c3',
    behaviour: 'release',
  });
  expect(spans).toMatchObject({ attempts: 'link' });
  expect(settings).toEqual({
    queue: 'q',
    logEnds: false,
    shards: 3,
    homeShards: ALL,
    slice: undefined,
    named: [],
    concurrency: 7,
    pollMs: 1_250,
    hasDispatcher: true,
    lingerMs: 4_000,
    startWithinMs: 9_000,
    graceMs: 2_000,
    stays: false,
    shortWaitMs: 20_000,
  });
  const endsAt = deadlineMonotonicMs - (REMAINING_MS - 5_000);
  expect(endsAt).toBeGreaterThanOrEqual(before);
  expect(endsAt).toBeLessThanOrEqual(systemRuntime.clock.monotonic());
  expect(signal.aborted).toBe(false);
});

test.skipIf(endpoint === null)(
  "uses the module's events and payloads, then the options', and the metrics",
  async () => {
    const told: string[] = [];
    const claimed = (name: string) => ({ onClaimed: () => void told.push(name) });
    const store = (name: string) => ({ name, put: vi.fn(), get: vi.fn(), delete: vi.fn() });
    const exports = { events: claimed('module'), payloads: store('module') };
    const now = 1_700_000_000_000;
    const task = { generation: 0, createdAt: now, claimedAt: now + 600_000 };
    worker.run.mockImplementation((_registry, ports: Parameters<Worker>[1]) => {
      ports.events?.onClaimed?.(task as never, { takenOver: false });
      ports.events?.onClaimed?.({ ...task, generation: 1 } as never, { takenOver: false });
      ports.events?.onClaimed?.({ ...task, createdAt: now - 1 } as never, { takenOver: false });
      ports.onCounted?.('done', 3);
      ports.onTimed?.('task', { waitMs: 5 });
      return Promise.resolve(DRAINED);
    });

    const [, own] = await invoke({}, exports, { events: claimed('options') });
    const [, given] = await invoke({}, exports, { payloads: store('options') });

    expect(told.slice(0, 4)).toEqual(['module', 'options', 'module', 'options']);
    expect([own.payloads, given.payloads]).toMatchObject([{ name: 'module' }, { name: 'options' }]);
    const metrics = dataPointsOf(lines.filter((line) => line.includes('"_aws"')).join('\n'));
    expect(metrics.map(({ name, value }) => `${name} ${value}`).sort()).toEqual(
      ['TaskWaitMs 5', 'TasksCompleted 3', 'TasksNew 1'].flatMap((metric) => [metric, metric]),
    );
  },
);

test.skipIf(endpoint === null)('a worker that fails still reports its metrics and ends its session', async () => {
  worker.run.mockImplementation((_registry, ports: Parameters<Worker>[1]) => {
    ports.onCounted?.('done', 1);
    return Promise.reject(new Error('a mistake'));
  });
  const listeners = process.listenerCount('exit');

  await expect(invoke({})).rejects.toThrow('a mistake');

  const [, { session }] = worker.run.mock.lastCall as Parameters<Worker>;
  expect(session.signal.aborted).toBe(true);
  expect(lines.filter((line) => line.includes('"TasksCompleted":1'))).toHaveLength(1);
  expect(process.listenerCount('exit')).toBe(listeners);
});
