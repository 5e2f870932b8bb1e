/** Reads the list of a queue's ended tasks: index entries only, newest first. */
import { mergedPage } from '../../../dynamo/engine/directory.ts';
import { deadPartitionKey, endedPartitionKey, splitKey } from '../../../dynamo/engine/keys.ts';
import { DEAD_SHARDS } from '../../../dynamo/engine/schema.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import type { EndedEntry, EndedQuery } from '../../task/ended-list.ts';
import { ownEntries } from '../index-entries.ts';
import { endedFactsIn } from './ended-entries.ts';

/** A page, and what to pass for the next one. Entries that lead to rows of other queues are left out. */
export async function pageOfEnded(
  sender: Sender,
  table: string,
  { queue, shards, states, since, until }: EndedQuery,
  after: unknown,
): Promise<{ readonly entries: readonly EndedEntry[]; readonly next: unknown }> {
  const dead = states.includes('dead') ? partitionsOf(DEAD_SHARDS, (shard) => deadPartitionKey(queue, shard)) : [];
  const isListed = states.includes('done') || states.includes('cancelled');
  const ended = isListed ? partitionsOf(shards, (shard) => endedPartitionKey(queue, shard)) : [];
  // A name is the moment followed by `#`, so the moment itself sorts before all names of its millisecond, and `~` after them.
  const of = { from: momentOf(since), to: `${momentOf(until)}~` };
  const query = { verb: 'task.pageOfEnded' as const, table, partitions: [...ended, ...dead], of };
  const { items, next } = await mergedPage(sender, query, after);
  const entries = ownEntries(items, { kind: 'task', queue }).map(({ pk, directoryName }): EndedEntry => {
    const key = { queue, id: splitKey(String(pk))[2] ?? '' };
    const facts = endedFactsIn(String(directoryName));
    return facts === undefined
      ? { ...key, kind: 'damaged', text: String(directoryName) }
      : { ...key, kind: 'ended', ...facts };
  });
  return { entries: entries.filter((entry) => entry.kind === 'damaged' || states.includes(entry.state)), next };
}

function partitionsOf(count: number, partition: (shard: number) => string): string[] {
  return Array.from({ length: count }, (_, shard) => partition(shard));
}

/** ISO 8601 sorts by time only between the years 0 and 9999. */
function momentOf(at: number): string {
  return new Date(Math.min(Math.max(at, 0), LAST_MOMENT)).toISOString();
}

const LAST_MOMENT = Date.parse('9999-12-31T23:59:59.999Z');
