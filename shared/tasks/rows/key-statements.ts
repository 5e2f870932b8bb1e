/**
 * The key row: running tasks of one key, and recent task starts.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `key#<queue>#<key>`, `key` | enter |
 * | v | N | schema version | enter |
 * | running | SS | ids of the running tasks; absent if there are none | enter, leave |
 * | window, started | N, epoch ms; N | the rate's current window, and the tasks started in it; absent without a rate | enter |
 * | enteredAt | N, epoch ms | when a task last started: shows how long the key has been idle | enter |
 * | ttl | N, epoch s | a year after a task left: longer than any running task can last | leave; removed by enter |
 *
 * It is only written in the transaction that claims a task, or takes it out of `running`. So it names exactly the tasks of the key
 * that are in state `running`. That includes tasks of crashed workers, which keep their slots until another worker has taken them over.
 */
import type { KeyLimit } from '../task/key-limit.ts';
import { windowOf } from '../task/key-limit.ts';
import type { TaskKey } from '../task/task.ts';
import { taskConcurrencyKey } from '../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import { getStatement, updateStatement } from '../../dynamo/engine/statement.ts';

const HAS_ROOM = '(attribute_not_exists(#running) OR size(#running) < :limit)';
/** For the one statement that has no guard. */
const ALWAYS = 'attribute_exists(#pk) OR attribute_not_exists(#pk)';
const ENTER = ', #enteredAt = :now ADD #running :me';

/**
 * Guard: fewer run than the limit; and fewer were started in the current window than the rate allows, or a new window has begun.
 * Effect: this one runs too, and counts.
 * Outcomes: refused = another caller was faster.
 * @param observed the start of the window that the row was seen in
 */
export function enterKey(
  table: string,
  task: TaskKey,
  limit: KeyLimit,
  observed: { readonly window: number | undefined },
  { now }: { readonly now: number },
): Statement<'update'> {
  const { rate } = limit;
  const base = { table, key: taskConcurrencyKey(task.queue, limit.key) };
  const values = { ':v': SCHEMA_VERSION, ':limit': limit.limit, ':me': new Set([task.id]), ':now': now };
  if (rate === undefined)
    return updateStatement('key.enter', {
      ...base,
      guard: HAS_ROOM,
      effect: `SET #v = :v${ENTER} REMOVE #ttl`,
      values,
    });
  const window = windowOf(rate, now);
  if (observed.window === window)
    return updateStatement('key.enter', {
      ...base,
      guard: `${HAS_ROOM} AND #window = :window AND #started < :count`,
      effect: `SET #v = :v, #started = #started + :one${ENTER} REMOVE #ttl`,
      values: { ...values, ':window': window, ':count': rate.count, ':one': 1 },
    });
  return updateStatement('key.enter', {
    ...base,
    guard: `${HAS_ROOM} AND (attribute_not_exists(#window) OR #window < :window)`,
    effect: `SET #v = :v, #window = :window, #started = :one${ENTER} REMOVE #ttl`,
    values: { ...values, ':window': window, ':one': 1 },
  });
}

/**
 * Unguarded because it is in the transaction that takes the task out of `running`, whose guard is true only once; and if the row was
 * deleted by TTL or by hand, its tasks must still be able to end.
 * Effect: its slot is free.
 */
export function leaveKey(
  table: string,
  task: TaskKey,
  key: string,
  { now }: { readonly now: number },
): Statement<'update'> {
  return updateStatement('key.leave', {
    table,
    key: taskConcurrencyKey(task.queue, key),
    guard: ALWAYS,
    effect: 'SET #v = :v, #ttl = :ttl DELETE #running :me',
    values: { ':v': SCHEMA_VERSION, ':me': new Set([task.id]), ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.semaphore) },
  });
}

export const readKey = (table: string, queue: string, key: string): Statement<'get'> =>
  getStatement('key.get', table, taskConcurrencyKey(queue, key));
