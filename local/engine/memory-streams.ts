/**
 * Streams of the engine in memory, in DynamoDB's words: one shard a table, which says the keys of what changed and never ends.
 * It keeps a day's worth of a laptop: the newest records, and not by their age.
 */
import type { Clock } from '../../shared/core/runtime/clock.ts';
import type { StoredItem } from '../../shared/testing/simulated-dynamo/attribute-value.ts';
import { keyPart } from '../../shared/testing/simulated-dynamo/table.ts';
import type { TableDefinition } from '../../shared/testing/simulated-dynamo/table-definition.ts';
import type { Members } from './memory-requests.ts';
import { encodeItem, rejected } from './memory-requests.ts';

const KEPT = 10_000;
const MOST_RECORDS = 1_000;
const SHARD = 'shardId-00000000000000000000-00000001';

export class MemoryStream {
  readonly arn: string;
  readonly #definition: TableDefinition;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #records: Members[] = [];
  /** Records that are no longer kept. */
  #trimmed = 0;

  constructor(definition: TableDefinition, tableArn: string, clock: Pick<Clock, 'now'>) {
    this.arn = `${tableArn}/stream/${new Date(clock.now()).toISOString().slice(0, -1)}`;
    this.#definition = definition;
    this.#clock = clock;
  }

  record(before: StoredItem | undefined, after: StoredItem | undefined): void {
    const item = after ?? before;
    if (item === undefined) return;
    const sequence = this.#trimmed + this.#records.length;
    this.#records.push({
      eventID: String(sequence),
      eventName: before === undefined ? 'INSERT' : after === undefined ? 'REMOVE' : 'MODIFY',
      eventVersion: '1.1',
      eventSource: 'aws:dynamodb',
      awsRegion: 'local',
      dynamodb: {
        ApproximateCreationDateTime: Math.floor(this.#clock.now() / 1_000),
        Keys: encodeItem(keyPart(item, this.#definition)),
        SequenceNumber: String(sequence),
        StreamViewType: 'KEYS_ONLY',
      },
    });
    if (this.#records.length < 2 * KEPT) return;
    this.#records.splice(0, KEPT);
    this.#trimmed += KEPT;
  }

  describe(): Members {
    return {
      StreamArn: this.arn,
      StreamStatus: 'ENABLED',
      StreamViewType: 'KEYS_ONLY',
      TableName: this.#definition.name,
      KeySchema: [],
      Shards: [{ ShardId: SHARD, SequenceNumberRange: { StartingSequenceNumber: String(this.#trimmed) } }],
    };
  }

  /** @throws DynamoFault */
  iterator({ ShardId, ShardIteratorType }: Members): Members {
    if (ShardId !== SHARD) throw rejected('ResourceNotFoundException', `there is no shard ${String(ShardId)}`);
    if (ShardIteratorType !== 'LATEST' && ShardIteratorType !== 'TRIM_HORIZON')
      throw rejected('NotSimulated', `ShardIteratorType ${String(ShardIteratorType)}: it has LATEST and TRIM_HORIZON`);
    return { ShardIterator: this.#iteratorAt(ShardIteratorType === 'LATEST' ? this.#end : this.#trimmed) };
  }

  /** @throws DynamoFault */
  recordsFrom(sequence: number, limit: number): Members {
    if (sequence < this.#trimmed)
      throw rejected('TrimmedDataAccessException', 'what this iterator points to is no longer kept');
    const from = sequence - this.#trimmed;
    const Records = this.#records.slice(from, from + Math.min(limit, MOST_RECORDS));
    return { Records, NextShardIterator: this.#iteratorAt(sequence + Records.length) };
  }

  get #end(): number {
    return this.#trimmed + this.#records.length;
  }

  #iteratorAt(sequence: number): string {
    return `${this.arn}|${sequence}`;
  }
}

/** The requests for streams. */
export function streamOperations(
  streams: () => readonly MemoryStream[],
): Readonly<Record<string, (members: Members) => Members>> {
  const find = (arn: unknown): MemoryStream => {
    const stream = streams().find((one) => one.arn === arn);
    if (stream === undefined) throw rejected('ResourceNotFoundException', `there is no stream ${String(arn)}`);
    return stream;
  };
  return {
    DescribeStream: ({ StreamArn }) => ({ StreamDescription: find(StreamArn).describe() }),
    GetShardIterator: (members) => find(members.StreamArn).iterator(members),
    GetRecords({ ShardIterator, Limit = MOST_RECORDS }) {
      const [arn, sequence] = String(ShardIterator).split('|');
      return find(arn).recordsFrom(Number(sequence), Number(Limit));
    },
  };
}
