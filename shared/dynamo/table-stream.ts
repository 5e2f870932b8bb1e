/**
 * Reads a table's changes from the engine's stream, for local processes. In a deployment, the table's waker does this.
 *
 * Engines serve their streams at the table's endpoint, and reading them is free.
 * This module is not for AWS, which charges for reads and allows two readers per shard; the wakers use these.
 * A wake is a hint: records from before the stream was opened, or during an outage, are not delivered, and polls find their tasks.
 */
import type { StreamRecord } from './inserted.ts';
import type { Clock } from '../core/runtime/clock.ts';

interface TableStreamOptions {
  /** The engine's address. */
  readonly endpoint: string;
  readonly table: string;
  readonly clock: Clock;
}

/** The interval at which Lambda reads each shard of a stream. */
const EVERY_MS = 250;
const RETRY_MS = 5_000;
const REQUEST_TIMEOUT_MS = 5_000;
/** Engines use the credentials at most for their key and region; the engines that Leasehold starts ignore them. */
const UNCHECKED_AUTHORIZATION =
  'AWS4-HMAC-SHA256 Credential=local/20260101/local/dynamodb/aws4_request, SignedHeaders=host, Signature=0';

/**
 * Delivers records, oldest first, until `stop` aborts; later records wait for `deliver`.
 * A table without a stream, or an engine without streams, delivers none.
 */
export async function followTable(
  { endpoint, table, clock }: TableStreamOptions,
  deliver: (records: readonly StreamRecord[]) => Promise<void> | void,
  stop: AbortSignal,
): Promise<void> {
  const engine = { endpoint, clock, stop };
  while (!stop.aborted) {
    try {
      let iterators: readonly string[] = await openShards(engine, table);
      let haveEnded = false;
      // Other shards follow a shard that has ended.
      while (!haveEnded) {
        await clock.sleep(EVERY_MS, stop);
        stop.throwIfAborted();
        const next: string[] = [];
        for (const iterator of iterators) {
          const page = await ask(engine, 'DynamoDBStreams_20120810.GetRecords', { ShardIterator: iterator });
          const { Records = [], NextShardIterator } = page as RecordsPage;
          if (Records.length > 0) await deliver(Records);
          if (typeof NextShardIterator === 'string') next.push(NextShardIterator);
        }
        haveEnded = next.length < iterators.length;
        iterators = next;
      }
    } catch {
      // We were stopped, or the engine is missing, which other users of the engine report.
      await clock.sleep(RETRY_MS, stop);
    }
  }
}

interface RecordsPage {
  readonly Records?: readonly StreamRecord[];
  readonly NextShardIterator?: string | null;
}

interface ShardsPage {
  readonly StreamDescription: {
    readonly Shards?: readonly {
      readonly ShardId: string;
      readonly ParentShardId?: string | null;
    }[];
    readonly LastEvaluatedShardId?: string | null;
  };
}

/** Iterators at the ends of the shards that are open. @throws Error */
async function openShards(engine: Engine, table: string): Promise<string[]> {
  const described = await ask(engine, 'DynamoDB_20120810.DescribeTable', { TableName: table });
  const { LatestStreamArn: StreamArn } = (described as { readonly Table: { readonly LatestStreamArn?: string | null } })
    .Table;
  if (typeof StreamArn !== 'string') throw new Error(`table ${table} has no stream`);
  const shards: NonNullable<ShardsPage['StreamDescription']['Shards']>[number][] = [];
  let after: string | null | undefined;
  do {
    const input = { StreamArn, ...(after ? { ExclusiveStartShardId: after } : {}) };
    const page = (await ask(engine, 'DynamoDBStreams_20120810.DescribeStream', input)) as ShardsPage;
    shards.push(...(page.StreamDescription.Shards ?? []));
    after = page.StreamDescription.LastEvaluatedShardId;
  } while (after);
  // Engines differ in how they represent the end of an open shard.
  const ended = new Set(shards.map(({ ParentShardId }) => ParentShardId));
  const open = shards.map(({ ShardId }) => ShardId).filter((id) => !ended.has(id));
  if (open.length === 0) throw new Error(`the stream of table ${table} has no shard`);
  return Promise.all(
    open.map(async (ShardId) => {
      const input = { StreamArn, ShardId, ShardIteratorType: 'LATEST' };
      const answer = await ask(engine, 'DynamoDBStreams_20120810.GetShardIterator', input);
      return (answer as { readonly ShardIterator: string }).ShardIterator;
    }),
  );
}

interface Engine {
  readonly endpoint: string;
  readonly clock: Clock;
  readonly stop: AbortSignal;
}

/** @throws Error when there is no response in time, or the request is refused */
async function ask({ endpoint, clock, stop }: Engine, target: string, input: unknown): Promise<unknown> {
  const overdue = new AbortController();
  const cancel = clock.after(REQUEST_TIMEOUT_MS, () => overdue.abort(new Error('the stream did not answer')));
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': target,
        'x-amz-date': '20260101T000000Z',
        authorization: UNCHECKED_AUTHORIZATION,
      },
      body: JSON.stringify(input),
      signal: AbortSignal.any([stop, overdue.signal]),
    });
    const answer = (await response.json()) as { readonly message?: string };
    if (!response.ok) throw new Error(answer.message ?? `HTTP ${response.status}`);
    return answer;
  } finally {
    cancel();
  }
}
