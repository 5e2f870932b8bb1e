/**
 * The schedule slot row: a tick that was dispatched.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `slot#<schedule>#<slot>`, `slot` | take |
 * | v | N | schema version | take |
 * | schedule, slot | S | the schedule's name, the scheduled moment | take |
 * | dispatchedAt | N, epoch ms | | take |
 * | by | S | the invocation that took it | take |
 * | nonce | S | of the last write | take |
 * | ttl | N, epoch s | | take |
 */
import type { Stamp } from '../../core/lease/stamp.ts';
import type { Tick } from '../dispatch/slot-store.ts';
import { slotKey } from '../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import { createStatement } from '../../dynamo/engine/statement.ts';

/**
 * Guard: the row is absent.
 * Effect: the slot is taken, by this invocation.
 * Outcomes: refused = the tick was already delivered.
 */
export function takeSlot(
  table: string,
  { schedule, slot }: Tick,
  { by, now, nonce }: Stamp & { readonly by: string },
): Statement<'put'> {
  return createStatement('slot.take', table, {
    ...slotKey(schedule, slot),
    v: SCHEMA_VERSION,
    schedule,
    slot,
    dispatchedAt: now,
    by,
    nonce,
    ttl: ttlEpochSeconds(now, RETENTION_DAYS.slot),
  });
}
