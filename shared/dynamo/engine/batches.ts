import { StoreUnavailableError } from '../../core/errors.ts';
import type { DynamoItem } from './driver.ts';
import { joinKey } from './keys.ts';
import type { Sender } from './send.ts';
import type { Statement } from './statement.ts';

/** DynamoDB's limit on the keys of one BatchGetItem. */
const BATCH_LIMIT = 100;
/** A large or throttled response may leave keys unprocessed, but each response makes progress. */
const ROUNDS_LIMIT = 20;

/**
 * Reads any number of rows in as many requests as needed; missing rows are left out.
 * A key that is named twice is read once, because DynamoDB refuses a request that repeats one.
 */
export async function readInBatches(
  sender: Sender,
  table: string,
  whole: Statement<'batchGet'>,
): Promise<DynamoItem[]> {
  const items: DynamoItem[] = [];
  const request = whole.input.RequestItems?.[table];
  const named = (request?.Keys ?? []).map((key) => [joinKey([String(key.pk), String(key.sk)]), key] as const);
  const keys = [...new Map(named).values()];
  for (let from = 0; from < keys.length; from += BATCH_LIMIT) {
    let requested = { [table]: { ...request, Keys: keys.slice(from, from + BATCH_LIMIT) } };
    for (let round = 1; ; round++) {
      const statement = { ...whole, input: { ...whole.input, RequestItems: requested } };
      const { Responses, UnprocessedKeys } = await sender.read(statement);
      items.push(...(Responses?.[table] ?? []));
      const rest = UnprocessedKeys?.[table];
      if (rest?.Keys === undefined) break;
      if (round === ROUNDS_LIMIT)
        throw new StoreUnavailableError(`${whole.verb}: keys were left unread after ${round} rounds`, {
          applied: 'no',
        });
      // Pause, because a throttled table would refuse the next request at once.
      await sender.pause(round);
      requested = { [table]: { ...rest, Keys: rest.Keys } };
    }
  }
  return items;
}
