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

/** With it an engine that we start says how many writes it has answered, and holds a read that has seen them all until the next one. */
export const WRITES_HEADER = 'x-leasehold-writes';
/** The interval at which Lambda reads each shard of a stream. */
const EVERY_MS = 250;
/** Between two reads that found something: an engine takes a few milliseconds for a read. */
const BURST_MS = 20;
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
      let shards: readonly Shard[] = await openShards(engine, table);
      let haveEnded = false;
      let restMs = EVERY_MS;
      // Other shards follow a shard that has ended.
      while (!haveEnded) {
        await clock.sleep(restMs, stop);
        stop.throwIfAborted();
        const next: Shard[] = [];
        let found = 0;
        for (const shard of shards) {
          const { Records = [], NextShardIterator, writes } = await readShard(engine, shard);
          if (Records.length > 0) await deliver(Records);
          found += Records.length;
          // An engine may answer a write before it shows the record: then it is read again without being held.
          const isUpToDate = Records.length > 0 || writes === shard.writes;
          if (typeof NextShardIterator === 'string')
            next.push({ iterator: NextShardIterator, writes, isHeld: writes !== undefined && isUpToDate });
        }
        haveEnded = next.length < shards.length;
        shards = next;
        if (shards.every(({ isHeld }) => isHeld)) restMs = found > 0 ? BURST_MS : 0;
        else restMs = EVERY_MS;
      }
    } catch {
      // We were stopped, or the engine is missing, which other users of the engine report.
      await clock.sleep(RETRY_MS, stop);
    }
  }
}

interface Shard {
  readonly iterator: string;
  /** As the engine counted them at the last read. */
  readonly writes?: string | undefined;
  /** The engine may hold the next read until there are more. */
  readonly isHeld: boolean;
}

interface RecordsPage {
  readonly Records?: readonly StreamRecord[];
  readonly NextShardIterator?: string | null;
}

async function readShard(
  engine: Engine,
  { iterator, writes, isHeld }: Shard,
): Promise<RecordsPage & Pick<Shard, 'writes'>> {
  const seen = isHeld && writes !== undefined ? { [WRITES_HEADER]: writes } : {};
  const { answer, headers } = await exchange(engine, 'DynamoDBStreams_20120810.GetRecords', {
    input: { ShardIterator: iterator },
    headers: seen,
  });
  return { ...(answer as RecordsPage), writes: headers.get(WRITES_HEADER) ?? undefined };
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
async function openShards(engine: Engine, table: string): Promise<Shard[]> {
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
      return { iterator: (answer as { readonly ShardIterator: string }).ShardIterator, isHeld: false };
    }),
  );
}

interface Engine {
  readonly endpoint: string;
  readonly clock: Clock;
  readonly stop: AbortSignal;
}

/** @throws Error when there is no answer in time, or it is a refusal */
async function ask(engine: Engine, target: string, input: unknown): Promise<unknown> {
  return (await exchange(engine, target, { input })).answer;
}

async function exchange(
  { endpoint, clock, stop }: Engine,
  target: string,
  { input, headers = {} }: { readonly input: unknown; readonly headers?: Readonly<Record<string, string>> },
): Promise<{ readonly answer: unknown; readonly headers: Headers }> {
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
        ...headers,
      },
      body: JSON.stringify(input),
      signal: AbortSignal.any([stop, overdue.signal]),
    });
    const answer = (await response.json()) as { readonly message?: string };
    if (!response.ok) throw new Error(answer.message ?? `HTTP ${response.status}`);
    return { answer, headers: response.headers };
  } finally {
    cancel();
  }
}
