/** Latencies of the index, the stream and Lambda's starts, and what Date headers say of a clock. */
import { setTimeout as wait } from 'node:timers/promises';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { ENV } from '../../functions/env.ts';
import { systemIds } from '../../shared/core/runtime/ids.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { stampOf } from '../../shared/core/lease/write.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import { DIRECTORY_INDEX, READY_INDEX } from '../../shared/dynamo/engine/schema.ts';
import type { Statement } from '../../shared/dynamo/engine/statement.ts';
import { createSession } from '../../shared/session/row/session-statements.ts';
import { enqueueTask } from '../../shared/tasks/rows/task/task-statements.ts';
import type { Measured } from '../../bench/evidence.ts';
import { awaitEffect } from './effects.ts';
import { RawDynamo } from './raw-dynamo.ts';
import { SHARDS, startKey, STARTS_VARIABLE, STREAM_QUEUE, streamKey, variable } from './settings.ts';

/** Between two queries of an index. */
const LOOK_MS = 5;
const GIVE_UP_MS = 30_000;
const WARM_GAP_MS = 100;
const { driver } = connectDynamo({}, systemRuntime);
const never = new AbortController().signal;
/** Identifies this environment of the function. */
const environment = systemIds.unique();
const lambda = new LambdaClient({});

function newTask(queue: string, id: string): Statement<'put'> {
  const task = { queue, id, name: 'evidence', priority: 'normal' as const, runAt: Date.now(), input: null };
  return enqueueTask(variable(ENV.table), task, SHARDS, stampOf(systemRuntime));
}

/** From the answer of a write to the first query that finds it. */
export async function indexLag({ samples }: { readonly samples: number }): Promise<Measured<'indexLag'>> {
  const ready: number[] = [];
  const directory: number[] = [];
  for (let n = 0; n < samples; n++) {
    // Its queue has no worker and no waker.
    ready.push(await lagOf(newTask('evidence-lag', systemIds.unique()), READY_INDEX));
    const session = { id: systemIds.unique(), name: 'lag', node: 'probe', ttlMs: 1_000, lockDelayMs: 0 };
    const created = createSession(variable(ENV.table), { ...session, behaviour: 'release', ...stampOf(systemRuntime) });
    directory.push(await lagOf(created, DIRECTORY_INDEX));
  }
  return { ready, directory };
}

type Index = typeof READY_INDEX | typeof DIRECTORY_INDEX;

async function lagOf(statement: Statement<'put'>, { name, partitionKey, sortKey }: Index): Promise<number> {
  const row = statement.input.Item as DynamoItem;
  const query = {
    TableName: statement.input.TableName,
    IndexName: name,
    KeyConditionExpression: '#partition = :partition AND #sort = :sort',
    ExpressionAttributeNames: { '#partition': partitionKey, '#sort': sortKey },
    ExpressionAttributeValues: { ':partition': row[partitionKey], ':sort': row[sortKey] },
  };
  await driver.attempt('put', statement.input, never);
  const written = performance.now();
  while (performance.now() - written < GIVE_UP_MS) {
    const { Items = [] } = await driver.attempt('query', query, never);
    if (Items.some(({ pk }) => pk === row.pk)) return performance.now() - written;
    await wait(LOOK_MS);
  }
  throw new Error(`after ${GIVE_UP_MS / 1000} s the index ${name} does not show the row`);
}

/** From the answer of an enqueue to the first line of a function that reads the stream: the clocks of two functions. */
export async function stream(sizes: {
  readonly samples: number;
  readonly pauseMs: number;
}): Promise<Measured<'stream'>> {
  const written = new Map<string, number>();
  for (let n = 0; n < sizes.samples; n++) {
    const id = systemIds.unique();
    await driver.attempt('put', newTask(STREAM_QUEUE, id).input, never);
    written.set(id, Date.now());
    await wait(sizes.pauseMs);
  }
  const toFirstLine: number[] = [];
  for (const [id, at] of written) {
    const { invokedAt } = await awaitEffect(streamKey(id));
    toFirstLine.push(Math.max(0, Number(invokedAt) - at));
  }
  return { toFirstLine };
}

/** From an asynchronous invocation to the first line. The cold ones are many at once, each of which holds its environment. */
export async function starts(sizes: {
  readonly cold: number;
  readonly warm: number;
  readonly holdMs: number;
}): Promise<Measured<'starts'>> {
  const cold: number[] = [];
  const warm: number[] = [];
  const start = async (holdMs: number): Promise<void> => {
    const id = systemIds.unique();
    const Payload = JSON.stringify({ id, holdMs, sentAt: Date.now() });
    await lambda.send(new InvokeCommand({ FunctionName: variable(STARTS_VARIABLE), InvocationType: 'Event', Payload }));
    const { firstLineMs, isCold } = await awaitEffect(startKey(id));
    (isCold === true ? cold : warm).push(Math.max(0, Number(firstLineMs)));
  };
  await Promise.all(Array.from({ length: sizes.cold }, () => start(sizes.holdMs)));
  await wait(sizes.holdMs);
  for (let n = 0; n < sizes.warm; n++) {
    await start(0);
    await wait(WARM_GAP_MS);
  }
  return { cold, warm };
}

interface Dates {
  readonly environment: string;
  readonly wallMs: number;
  readonly monotonicMs: number;
  /** The service's clock less this machine's. */
  readonly leastAheadMs: number;
  readonly mostAheadMs: number;
}

/** A Date header is cut to seconds, and made between sending and receiving: many together prove a short interval. */
export async function dates({ requests }: { readonly requests: number }): Promise<Dates> {
  const begun = { wallMs: Date.now(), monotonicMs: performance.now() };
  const raw = await RawDynamo.open();
  // Gives the HTTP client time to notice connections that the service closed during the freeze.
  await wait(100);
  let [leastAheadMs, mostAheadMs] = [-Infinity, Infinity];
  for (let n = 0; n < requests; n++) {
    const sentAt = Date.now();
    const { serverDate } = await raw.send('GetItem', { TableName: variable(ENV.table), Key: noKey('dates') });
    const receivedAt = Date.now();
    leastAheadMs = Math.max(leastAheadMs, serverDate - receivedAt);
    mostAheadMs = Math.min(mostAheadMs, serverDate + 1_000 - sentAt);
  }
  return { environment, ...begun, leastAheadMs, mostAheadMs };
}

export function noKey(name: string): object {
  return { pk: { S: `evidence#${name}` }, sk: { S: 'evidence' } };
}
