/**
 * The key row: running tasks of one key, and recent task starts.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `key#<queue>#<key>`, `key` | enter |
 * | v | N | schema version | enter, recount |
 * | running | N | how many of its tasks run | enter, leave, recount |
 * | nonce | S | of the last write: if it is unchanged, no task has entered or left | enter, leave, recount |
 * | window, started | N, epoch ms; N | the rate's current window, and the tasks started in it; absent without a rate | enter |
 * | enteredAt | N, epoch ms | when a task last started: shows how long the key has been idle | enter |
 * | staySeconds | N | a century for each running task: a leave adds it to `ttl` | enter, leave, recount |
 * | ttl | N, epoch s | a year after the last task left, and out of reach while one runs | leave, recount; removed by enter |
 *
 * Only transactions that claim a task or take it out of `running` write this row, and an operator's recount, which repairs it.
 * So it counts exactly the tasks of the key in state `running`. That includes tasks of crashed workers,
 * which keep their slots until another worker has taken them over.
 * The row does not name these tasks, so a write costs the same at any limit.
 */
import type { Stamp } from '../../core/lease/write.ts';
import type { KeyLimit, KeyState } from '../task/key-limit.ts';
import { windowOf, IDLE_KEY } from '../task/key-limit.ts';
import type { TaskKey } from '../task/task.ts';
import { taskConcurrencyKey } from '../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import { batchGetStatement, getStatement, updateStatement } from '../../dynamo/engine/statement.ts';
import type { DynamoItem } from '../../dynamo/engine/driver.ts';
import { ItemReader } from '../../dynamo/engine/item-reader.ts';

const HAS_ROOM = '(attribute_not_exists(#running) OR #running < :limit)';
const ENTER = ', #enteredAt = :now, #nonce = :nonce ADD #running :one, #staySeconds :century';
const CENTURY_SECONDS = 100 * 365 * 86_400;

/**
 * Guard: fewer tasks run than the limit; and fewer were started in the current window than the rate allows, or a new window has begun.
 * Effect: one more task runs and is counted.
 * Outcomes: refused = another caller was faster.
 * @param observed the start of the window in the observed row
 * @param tasks how many enter at once, for a key without a rate
 */
export function enterKey(
  table: string,
  task: TaskKey,
  limit: KeyLimit,
  observed: { readonly window: number | undefined },
  stamp: Stamp,
  tasks = 1,
): Statement<'update'> {
  const { key, rate } = limit;
  const window = rate && windowOf(rate, stamp.now);
  const enter = (guard: string, start: string): Statement<'update'> =>
    updateStatement('key.enter', {
      table,
      key: taskConcurrencyKey(task.queue, key),
      guard,
      effect: `SET #v = :v${start}${ENTER} REMOVE #ttl`,
      stamp,
      values: {
        ':limit': limit.limit - tasks + 1,
        ':one': tasks,
        ':century': tasks * CENTURY_SECONDS,
        ':window': window,
        ':count': rate?.count,
      },
    });
  if (window === undefined) return enter(HAS_ROOM, '');
  if (observed.window === window)
    return enter(`${HAS_ROOM} AND #window = :window AND #started < :count`, ', #started = #started + :one');
  const isNew = '(attribute_not_exists(#window) OR #window < :window)';
  return enter(`${HAS_ROOM} AND ${isNew}`, ', #window = :window, #started = :one');
}

/**
 * Part of the transaction that takes the task out of `running`, whose guard is true only once.
 * Guard: the row counts at least one.
 * Effect: its slot is free. The row may be deleted in a year if no other task runs: `staySeconds` is then 0, as of this very write.
 * Outcomes: refused = the row was deleted while the task ran, so there is nothing to free: the task ends without this write.
 * @param tasks how many leave at once
 */
export function leaveKey(table: string, task: TaskKey, key: string, stamp: Stamp, tasks = 1): Statement<'update'> {
  return updateStatement('key.leave', {
    table,
    key: taskConcurrencyKey(task.queue, key),
    guard: '#running > :zero',
    effect:
      'SET #v = :v, #running = #running - :one, #staySeconds = if_not_exists(#staySeconds, :century) - :century, ' +
      '#ttl = if_not_exists(#staySeconds, :century) + :ttl, #nonce = :nonce',
    stamp,
    values: {
      ':zero': tasks - 1,
      ':one': tasks,
      ':century': tasks * CENTURY_SECONDS,
      ':ttl': idleTtl(stamp.now) - tasks * CENTURY_SECONDS,
    },
  });
}

/**
 * Guard: no task has entered or left since the row was observed.
 * Effect: it counts `running` tasks.
 * Outcomes: refused = a task has entered or left, so the tasks must be read again.
 */
export function recountKey(
  table: string,
  queue: string,
  key: string,
  { observedNonce, running }: { readonly observedNonce: string | undefined; readonly running: number },
  stamp: Stamp,
): Statement<'update'> {
  const staySeconds = running * CENTURY_SECONDS;
  return updateStatement('key.recount', {
    table,
    key: taskConcurrencyKey(queue, key),
    guard: observedNonce === undefined ? 'attribute_not_exists(#nonce)' : '#nonce = :observedNonce',
    effect: 'SET #v = :v, #running = :running, #staySeconds = :staySeconds, #ttl = :ttl, #nonce = :nonce',
    omitsNewRow: true,
    stamp,
    values: {
      ':running': running,
      ':staySeconds': staySeconds,
      ':ttl': idleTtl(stamp.now) + staySeconds,
      ':observedNonce': observedNonce,
    },
  });
}

/** A year: a task of the key may come back, and a rate's window ends much earlier. */
function idleTtl(now: number): number {
  return ttlEpochSeconds(now, RETENTION_DAYS.semaphore);
}

/** Eventually consistent: for choosing tasks to claim, and for counting. */
export function readKeys(table: string, queue: string, keys: readonly string[]): Statement<'batchGet'> {
  const rows = keys.map((key) => taskConcurrencyKey(queue, key));
  return batchGetStatement('key.getMany', table, rows, { consistent: false });
}

export const readKey = (table: string, queue: string, key: string): Statement<'get'> =>
  getStatement('key.get', table, taskConcurrencyKey(queue, key));

/** @param item undefined: no task of the key has ever run, or TTL deleted its row */
export function decodeKey(item: DynamoItem | undefined): KeyState {
  if (item === undefined) return IDLE_KEY;
  const row = new ItemReader(item);
  const count = (attribute: string): number => row.count(attribute);
  return {
    running: row.optional('running', count) ?? 0,
    window: row.optional('window', count),
    started: row.optional('started', count) ?? 0,
    enteredAt: row.optional('enteredAt', count),
  };
}
