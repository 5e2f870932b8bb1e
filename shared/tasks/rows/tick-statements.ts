/**
 * The tick row: a tick that was dispatched.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `tick#<schedule>#<scheduledTime>`, `tick` | take |
 * | v | N | schema version | take |
 * | schedule, scheduledTime | S | the schedule's name, the scheduled moment | take |
 * | dispatchedAt | N, epoch ms | | take |
 * | by | S | the invocation that took it | take |
 * | nonce | S | of the last write | take |
 * | ttl | N, epoch s | | take |
 */
import type { Stamp } from '../../core/lease/write.ts';
import type { Tick } from '../dispatch/tick-store.ts';
import { tickKey } from '../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import { createStatement } from '../../dynamo/engine/statement.ts';

/**
 * Guard: the row is absent.
 * Effect: the tick is taken, by this invocation.
 * Outcomes: refused = the tick was already delivered.
 */
export function takeTick(
  table: string,
  { schedule, scheduledTime }: Tick,
  { by, now, nonce }: Stamp & { readonly by: string },
): Statement<'put'> {
  return createStatement('tick.take', table, {
    ...tickKey(schedule, scheduledTime),
    v: SCHEMA_VERSION,
    schedule,
    scheduledTime,
    dispatchedAt: now,
    by,
    nonce,
    ttl: ttlEpochSeconds(now, RETENTION_DAYS.tick),
  });
}
