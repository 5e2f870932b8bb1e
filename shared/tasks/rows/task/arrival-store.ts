/** The other side of a durable task's journal: answers and heartbeats, and reads of separate rows. */
import { StoreUnavailableError } from '../../../core/errors.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { splitKey } from '../../../dynamo/engine/keys.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import { actionOf, together } from '../../../dynamo/engine/transaction.ts';
import type { ArrivalStore } from '../../durable/journal-store.ts';
import type { TaskKey } from '../../task/task.ts';
import type { TaskStoreOptions } from './adding-store.ts';
import { arrive, beat, pageOf, putArrival } from './arrival-statements.ts';

export function createArrivalStore(
  sender: Sender,
  { table, shards }: Pick<TaskStoreOptions, 'table' | 'shards'>,
): ArrivalStore {
  const rowsOf = async (verb: Parameters<typeof pageOf>[0], task: TaskKey): Promise<readonly DynamoItem[]> => {
    const rows: DynamoItem[] = [];
    let after: unknown;
    do {
      const { Items = [], LastEvaluatedKey } = await sender.read(pageOf(verb, table, task, after));
      rows.push(...Items);
      after = LastEvaluatedKey;
    } while (after !== undefined);
    return rows;
  };
  return {
    async arrive(task, arrival, stamp) {
      const own = arrive(table, task, arrival, shards, stamp);
      const row = putArrival(table, task, arrival, stamp.now);
      const isApart = arrival.content !== undefined;
      const result = isApart
        ? await sender.transact(together(own, [actionOf(row)], stamp.nonce), stamp.nonce)
        : await sender.write(own, stamp.nonce);
      if (result.kind !== 'applied') return { kind: 'refused', earlierAttempt: result.earlierAttempt };
      // Without this row, the next tick starts the worker.
      if (!isApart && task.state === 'ready') await sender.write(row, stamp.nonce).catch(ignoreOutage);
      return { kind: 'applied' };
    },

    beat: async (key, callback, now) => (await sender.write(beat(table, key, callback, now), '')).kind,

    async journalParts(task) {
      let part = task.journal?.part;
      const rows = part === undefined ? [] : await rowsOf('journal.page', task);
      const byName = new Map(rows.map((row) => [nameIn(row), new ItemReader(row)]));
      const texts: [string, string][] = [];
      while (part !== undefined) {
        const row = byName.get(part);
        if (row === undefined) break;
        texts.unshift([part, row.text('text', JOURNAL_TEXT_LIMIT_BYTES)]);
        // A damaged row may name itself.
        byName.delete(part);
        part = row.optional('before', (attribute) => row.string(attribute));
      }
      return { texts: new Map(texts), isWhole: part === undefined };
    },

    async arrivals(task) {
      const rows = await rowsOf('arrival.page', task);
      const withText = rows.filter(({ text }) => text !== undefined);
      return new Map(withText.map((row) => [nameIn(row), new ItemReader(row).text('text', JOURNAL_TEXT_LIMIT_BYTES)]));
    },
  };
}

/** A part has 300 KB of elements, each of which is JSON in JSON. */
const JOURNAL_TEXT_LIMIT_BYTES = 4 * 1_024 * 1_024;

/** The key of the operation, or the name of the part. */
function nameIn({ sk }: DynamoItem): string {
  const [, name = ''] = splitKey(String(sk));
  return name;
}

export function ignoreOutage(error: unknown): void {
  if (!(error instanceof StoreUnavailableError)) throw error;
}
