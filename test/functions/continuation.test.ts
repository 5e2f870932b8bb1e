import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from 'aws-lambda';
import type { UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { ENV } from '../../functions/env.ts';
import { createWorkHandler } from '../../functions/work.ts';
import { semaphoreKey, shardOf } from '../../shared/dynamo/engine/keys.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { InvokeServer } from '../support/invoke-server.ts';
import { openInvokeServer } from '../support/invoke-server.ts';
import { whenAborted } from '../support/when-aborted.ts';
import { newTables } from '../support/new-tables.ts';

const endpoint = inject('embeddedEndpoint') ?? inject('dynamodbLocalEndpoint');
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const clientConfig = { region: 'us-east-1', credentials };
const MARGIN_MS = 2_000;
/** A worker's time ends in the middle of a task: long enough for one on a busy machine to have begun it. */
const CLAIMED_WITHIN_MS = 6_000;

describe.skipIf(endpoint === null)('functions that start workers', () => {
  let table: string;
  let lambda: InvokeServer;

  beforeEach(async () => {
    table = `functions-${systemRuntime.ids.unique()}`;
    lambda = await openInvokeServer();
    await newTables(endpoint ?? '', table);
    const variables = {
      [ENV.table]: table,
      [ENV.queue]: 'q',
      [ENV.shards]: '1',
      [ENV.endpoint]: endpoint ?? '',
      [ENV.deadlineMarginMs]: String(MARGIN_MS),
      [ENV.continuation]: '1',
      [ENV.workerFunction]: 'the-worker',
      AWS_ENDPOINT_URL_LAMBDA: lambda.endpoint,
      AWS_REGION: 'us-east-1',
      POWERTOOLS_DEV: 'true',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      POWERTOOLS_LOG_LEVEL: 'SILENT',
      POWERTOOLS_METRICS_DISABLED: 'true',
    };
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  });

  afterEach(async () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    vi.resetModules();
    await lambda[Symbol.asyncDispose]();
  });

  const contextOf = (remainingMs: number, functionName = 'the-worker'): Context => {
    const startedAt = systemRuntime.clock.monotonic();
    return {
      functionName,
      awsRequestId: systemRuntime.ids.unique(),
      logStreamName: 'stream',
      getRemainingTimeInMillis: () => remainingMs - (systemRuntime.clock.monotonic() - startedAt),
    } as Context;
  };
  const slow = defineTask({
    name: 'slow',
    run: async (_: unknown, task) => {
      await wait(60_000, undefined, { signal: task.signal });
    },
  });
  /** Stops by itself, but later than a worker may wait for it: it has to hand back and to end its session as well. */
  const stubborn = defineTask({
    name: 'stubborn',
    run: async (_: unknown, task) => {
      await whenAborted(task.signal);
      await wait(0.7 * MARGIN_MS);
    },
  });
  const quick = defineTask({ name: 'quick', run: () => undefined });
  const enqueue = async (name: string, id: string, { shards = 1, queue = 'q' } = {}): Promise<void> => {
    using leasehold = createLeasehold({ table, endpoint: endpoint ?? '', clientConfig, queue, shards });
    await leasehold.tasks.enqueue(name, {}, { id });
  };

  describe('a worker', () => {
    const START = { queue: 'q', homeShards: [0] };

    test('works in shards that only clients have, when it is sent there', async () => {
      await Promise.all(Array.from({ length: 16 }, (_, n) => enqueue('quick', `t${n}`, { shards: 2 })));
      const there = Array.from({ length: 16 }, (_, n) => `t${n}`).filter((id) => shardOf(id, 2) === 1);

      const result = await createWorkHandler({ quick })({ queue: 'q', homeShards: [1] }, contextOf(300_000));

      expect(result).toMatchObject({ report: { ended: 'drained' } });
      using leasehold = createLeasehold({ table, endpoint: endpoint ?? '', clientConfig, queue: 'q', shards: 2 });
      for (const id of there) expect(await leasehold.tasks.get(id)).toMatchObject({ state: 'done' });
    });

    // In parallel, because each takes its whole time.
    test('hands back its tasks and starts one successor near its end, unless starts are refused, off, or the chain has thirteen', async () => {
      const end = async (
        queue: string,
        {
          continuation = '1',
          generation,
          name = 'slow',
        }: { readonly continuation?: string; readonly generation?: unknown; readonly name?: string } = {},
      ) => {
        vi.stubEnv(ENV.queue, queue);
        vi.stubEnv(ENV.continuation, continuation);
        const work = createWorkHandler({ slow, stubborn });
        await enqueue(name, 't', { queue });
        const event = { ...START, queue, ...(generation === undefined ? {} : { generation: generation as number }) };
        return work(event, contextOf(MARGIN_MS + CLAIMED_WITHIN_MS, queue));
      };
      lambda.refuse('refused');

      const ended = await Promise.all([
        end('first'),
        end('refused'),
        end('off', { continuation: '0' }),
        end('twelfth', { generation: 11 }),
        end('thirteenth', { generation: 12 }),
        end('forged', { generation: 'none' }),
        end('stubborn', { name: 'stubborn', continuation: '0' }),
      ]);

      for (const result of ended)
        expect(result).toMatchObject({ permit: true, report: { ended: 'handedBack', settled: { released: 1 } } });
      const successors = lambda.invoked.map(({ functionName, event }) => [functionName, event] as const);
      expect(successors).toHaveLength(4);
      expect(Object.fromEntries(successors)).toMatchObject({
        first: { ...START, queue: 'first', after: ended[0].session, generation: 1 },
        refused: {},
        twelfth: { generation: 12 },
        forged: { generation: 1 },
      });
    });

    // Its successor needs the permit, and the end of a session releases it as well.
    test('has released its permit before it starts its successor and ends its session', async () => {
      const client = new DynamoDBClient({ endpoint: endpoint ?? '', ...clientConfig });
      const order: string[] = [];
      client.middlewareStack.add((next) => async (args) => {
        const { UpdateExpression = '', Key } = args.input as Partial<UpdateItemCommandInput>;
        const { pk } = Key ?? {};
        const isRelease = pk?.S === semaphoreKey(workersSemaphore('q')).pk && UpdateExpression.includes('REMOVE');
        if (pk?.S?.startsWith('session#') === true && UpdateExpression.includes('status'))
          order.push(`ends its session, ${lambda.invoked.length} started`);
        const answered = await next(args);
        // A slow answer: nothing else may be done before it.
        if (isRelease) order.push(await wait(50, `released, ${lambda.invoked.length} started`));
        return answered;
      });
      await enqueue('slow', 't');

      vi.stubEnv(ENV.endpoint, undefined);
      await createWorkHandler({ slow }, { client })(START, contextOf(MARGIN_MS + 1_000));
      client.destroy();

      expect(order).toEqual(['released, 0 started', 'ends its session, 1 started']);
    });

    test('works once if its start is delivered twice, so the chain does not fork', async () => {
      const event = { ...START, after: 'the-session-before' };
      const work = createWorkHandler({ quick });

      const results = [await work(event, contextOf(60_000)), await work(event, contextOf(60_000))];

      expect(results.map(({ permit }) => permit)).toEqual([true, false]);
    });
  });

  test('the dispatcher succeeds if it can start some workers, and reports why the others failed', async () => {
    vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'ERROR');
    vi.stubEnv(ENV.concurrency, '1');
    const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    lambda.fail(1);
    for (const id of ['a', 'b', 'c']) await enqueue('quick', id);

    const { handler } = await import('../../functions/dispatch.ts');
    const ticked = await handler({ schedule: 's', scheduledTime: '2026-08-01T00:00:00Z' }, contextOf(60_000));

    expect(ticked).toMatchObject({ started: 1, failedStarts: 2 });
    expect(errors).toHaveBeenCalledTimes(2);
  });
});
