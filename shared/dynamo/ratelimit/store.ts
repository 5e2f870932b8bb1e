import type { BucketRecord, RateLimitStore } from '../../ratelimit/store.ts';
import type { DynamoItem } from '../engine/driver.ts';
import { ItemReader } from '../engine/item-reader.ts';
import { outcomeOf } from '../engine/outcomes.ts';
import type { Sender } from '../engine/send.ts';
import * as statements from './statements.ts';

export function createRateLimitStore(sender: Sender, table: string): RateLimitStore {
  return {
    async take(bucket, draw, stamp, limits) {
      const statement = statements.takeTokens(table, bucket, draw, stamp);
      return outcomeOf(await sender.write(statement, stamp.nonce, limits), decodeBucket, decodeBucket);
    },

    async takeFromFull(bucket, draw, stamp, limits) {
      const statement = statements.takeTokensFromFull(table, bucket, draw, stamp);
      return outcomeOf(await sender.write(statement, stamp.nonce, limits), decodeBucket, decodeBucket);
    },

    async get(bucket) {
      const { Item } = await sender.read(statements.readBucket(table, bucket));
      return Item === undefined ? undefined : decodeBucket(Item);
    },
  };
}

/** @throws CorruptItemError */
function decodeBucket(item: DynamoItem): BucketRecord {
  const row = new ItemReader(item);
  return { emptyAt: row.number('emptyAt'), nonce: row.string('nonce') };
}
