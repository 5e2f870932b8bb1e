import type { BucketRecord, RateLimitStore } from '../ratelimit-store.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { ItemReader } from '../../../dynamo/engine/item-reader.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender } from '../../../dynamo/engine/send.ts';
import * as statements from './ratelimit-statements.ts';

export function createRateLimitStore(sender: Sender, table: string): RateLimitStore {
  const rows = new Rows(sender, decodeBucket);
  return {
    take: (bucket, draw, stamp) => rows.write(statements.takeTokens(table, bucket, draw, stamp), stamp),

    takeFromFull: (bucket, draw, stamp) => rows.write(statements.takeTokensFromFull(table, bucket, draw, stamp), stamp),

    get: (bucket) => rows.get(statements.readBucket(table, bucket)),
  };
}

/** @throws CorruptItemError */
function decodeBucket(item: DynamoItem): BucketRecord {
  const row = new ItemReader(item);
  return { emptyAt: row.number('emptyAt'), nonce: row.string('nonce') };
}
