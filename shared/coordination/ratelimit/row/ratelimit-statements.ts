/**
 * The row of a token bucket.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `ratelimit#<name>#<key>`, `ratelimit` | take from full |
 * | v | N | schema version | take from full |
 * | emptyAt | N, epoch ms, to the microsecond | when it would have been empty if only the flow had filled it since then | take |
 * | nonce | S | of the last write | all |
 * | ttl | N, epoch s | a day after it is full, because a bucket without a row is also full | all |
 */
import type { Stamp } from '../../../core/lease/write.ts';
import type { Draw } from '../bucket.ts';
import type { BucketKey } from '../ratelimit-store.ts';
import { rateLimitKey } from '../../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement, UpdateParts } from '../../../dynamo/engine/statement.ts';
import { getStatement, updateStatement } from '../../../dynamo/engine/statement.ts';
import type { Verb } from '../../../dynamo/engine/verb.ts';

/**
 * Guard: not full, with enough, and not last written by an earlier attempt of this take.
 * Effect: its tokens are reduced. If other takes followed an unanswered attempt, the retry takes the tokens again: too many, never too few.
 * Outcomes: refused = not enough tokens, and the row shows when there will be enough; or the bucket is full or new.
 */
export const takeTokens = (table: string, bucket: BucketKey, draw: Draw, stamp: Stamp): Statement<'update'> =>
  updateBucket('ratelimit.take', table, bucket, draw, stamp, {
    guard: '#emptyAt >= :fullSince AND #emptyAt <= :enoughSince AND #nonce <> :nonce',
    effect: `SET #emptyAt = #emptyAt + :cost, ${TOUCH}`,
  });

/**
 * Guard: the bucket is full, or has no row. Excess tokens are lost.
 * Effect: full, minus the tokens taken.
 * Outcomes: refused = another caller has taken tokens in the meantime.
 */
export const takeTokensFromFull = (table: string, bucket: BucketKey, draw: Draw, stamp: Stamp): Statement<'update'> =>
  updateBucket('ratelimit.takeFromFull', table, bucket, draw, stamp, {
    guard: 'attribute_not_exists(#pk) OR (#v = :v AND #emptyAt < :fullSince)',
    effect: `SET #v = :v, #emptyAt = :emptyAt, ${TOUCH}`,
  });

export const readBucket = (table: string, { name, key }: BucketKey): Statement<'get'> =>
  getStatement('ratelimit.get', table, rateLimitKey(name, key));

const TOUCH = '#nonce = :nonce, #ttl = :ttl';

function updateBucket(
  verb: Verb,
  table: string,
  { name, key }: BucketKey,
  { fullSince, enoughSince, costMs }: Draw,
  stamp: Stamp,
  parts: Pick<UpdateParts, 'guard' | 'effect'>,
): Statement<'update'> {
  const fullAt = stamp.now + (stamp.now - fullSince);
  const values = {
    ':fullSince': fullSince,
    ':enoughSince': enoughSince,
    ':cost': costMs,
    ':emptyAt': fullSince + costMs,
    ':ttl': ttlEpochSeconds(fullAt, RETENTION_DAYS.rateLimit),
  };
  return updateStatement(verb, { ...parts, table, key: rateLimitKey(name, key), stamp, values });
}
