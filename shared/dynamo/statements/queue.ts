/**
 * The queue row: what operators have set. It is there only for queues that somebody has touched, and is never swept.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `queue#<name>`, `queue` | change |
 * | v | N | schema version | change |
 * | queue | S | its name | change |
 * | paused | BOOL | nothing is claimed while true | change |
 * | reason | S | why, for people | change |
 * | updatedAt | N, epoch ms | | change |
 * | nonce | S | of the last write | change |
 * | directoryKey, directoryName | S | `queue` and its name: the listing | change |
 */
import type { QueueRecord } from '../../task/queue-store.ts';
import type { Stamp } from '../../lease/stamp.ts';
import { queueKey } from '../keys.ts';
import { SCHEMA_VERSION } from '../schema.ts';
import type { Statement } from '../statement.ts';
import { getStatement, updateStatement } from '../statement.ts';

/**
 * Guard: not written since it was observed, or still absent: a late attempt of an earlier change must not undo a later one.
 * Effect: paused, or open again.
 * Outcomes: refused = somebody else changed it meanwhile: look again.
 */
export function changeQueue(
  table: string,
  queue: string,
  observed: QueueRecord | undefined,
  { isPaused, reason }: { readonly isPaused: boolean; readonly reason: string },
  { now, nonce }: Stamp,
): Statement<'update'> {
  return updateStatement('queue.change', {
    table,
    key: queueKey(queue),
    guard: observed === undefined ? 'attribute_not_exists(#pk)' : '#nonce = :observedNonce',
    effect:
      'SET #v = :v, #queue = :queue, #paused = :paused, #reason = :reason, #updatedAt = :now, #nonce = :nonce, ' +
      '#directoryKey = :directory, #directoryName = :queue',
    values: {
      ...{ ':v': SCHEMA_VERSION, ':queue': queue, ':paused': isPaused, ':reason': reason },
      ...{ ':now': now, ':nonce': nonce, ':directory': 'queue' },
      ...(observed === undefined ? {} : { ':observedNonce': observed.nonce }),
    },
  });
}

export const readQueue = (table: string, queue: string): Statement<'get'> =>
  getStatement('queue.get', table, queueKey(queue));
