import { StoreUnavailableError } from '../errors.ts';
import type { DynamoItem } from './driver.ts';
import type { Sender } from './send.ts';
import type { Statement } from './statement.ts';

/** DynamoDB's bound on the keys of one BatchGetItem. */
const BATCH_LIMIT = 100;
/** An answer may leave keys unprocessed when it is large or throttled; it makes progress each time. */
const ROUNDS_LIMIT = 20;

/** Reads any number of rows by key; rows that do not exist are left out. */
export async function readInBatches<Key>(
  sender: Sender,
  table: string,
  keys: readonly Key[],
  statementFor: (batch: readonly Key[]) => Statement<'batchGet'>,
): Promise<DynamoItem[]> {
  const items: DynamoItem[] = [];
  for (let from = 0; from < keys.length; from += BATCH_LIMIT) {
    let statement = statementFor(keys.slice(from, from + BATCH_LIMIT));
    for (let round = 1; ; round++) {
      const { Responses, UnprocessedKeys } = await sender.read(statement);
      items.push(...(Responses?.[table] ?? []));
      if (UnprocessedKeys?.[table]?.Keys === undefined) break;
      if (round === ROUNDS_LIMIT)
        throw new StoreUnavailableError(`${statement.verb}: keys were left unread after ${round} rounds`, {
          applied: 'no',
        });
      statement = { ...statement, input: { RequestItems: UnprocessedKeys } };
    }
  }
  return items;
}
