/**
 * The line row: the turn of a key's tasks that run in strict order.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `line#<queue>#<key>`, `line` | join |
 * | v | N | schema version | join |
 * | tail | N | the last ticket given out; starts at the clock, only grows, and never restarts | join |
 * | turn | N | the ticket of the task whose turn it is; one more than `tail` if the line is empty; only grows | join, pass |
 * | ttl | N, epoch s | long after the last task left | pass; removed by join |
 *
 * Only transactions that add a task to the line, or end the task whose turn it is, write this row.
 * The tasks stand in the index of groups in the order of their tickets: see `place.ts`.
 */
import type { Stamp } from '../../../core/lease/write.ts';
import type { LineState } from '../../task/line.ts';
import type { CancelledTask } from '../../task/task.ts';
import { lineKey } from '../../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { batchGetStatement, getStatement, updateStatement } from '../../../dynamo/engine/statement.ts';
import type { EndStamp } from './ended-entries.ts';
import { leaveFor } from './ended-entries.ts';
import { updateTask } from './task-statements.ts';

/** One transaction's change to a line: the turn of a task is over, others join, or both. */
interface LineStep {
  /** The ticket of the task whose turn is over. */
  readonly pass?: number | undefined;
  /** The ticket whose turn it is then. Default: the next one. */
  readonly to?: number;
  /** The number of tasks that join. */
  readonly joins: number;
}

/**
 * Guard: to join, no task has joined since the line was observed. To pass, it is the turn of this ticket.
 *   If nobody waits behind it, no task has joined since then, because the row may then expire.
 * Effect: the next tickets are given out; it is the turn of the next ticket.
 * Outcomes: refused = another task was faster, or the turn is over: read it again.
 */
export function changeLine(
  table: string,
  { queue, key }: { readonly queue: string; readonly key: string },
  seen: LineState | undefined,
  { pass, to, joins }: LineStep,
  { now }: Pick<Stamp, 'now'>,
): Statement<'update'> {
  const tail = tailOf(seen, now);
  const turn = to ?? (pass ?? tail) + 1;
  const isLast = pass !== undefined && turn > tail && joins === 0;
  const isFresh = seen === undefined ? 'attribute_not_exists(#tail)' : '#tail = :tail';
  const guard = [...(pass === undefined ? [] : ['#turn = :ticket']), ...(joins > 0 || isLast ? [isFresh] : [])];
  const effect = [
    ...(seen === undefined ? ['#v = :v'] : []),
    ...(pass === undefined && seen !== undefined ? [] : ['#turn = :turn']),
    ...(joins > 0 ? ['#tail = :last'] : []),
    ...(isLast ? ['#ttl = :ttl'] : []),
  ];
  return updateStatement(pass === undefined ? 'line.join' : joins > 0 ? 'line.passAndJoin' : 'line.pass', {
    table,
    key: lineKey(queue, key),
    guard: guard.join(' AND '),
    effect: `SET ${effect.join(', ')}${joins > 0 ? ' REMOVE #ttl' : ''}`,
    values: {
      ':tail': tail,
      ':ticket': pass,
      ':turn': turn,
      ':last': tail + joins,
      ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.task),
    },
  });
}

/** A recreated line gives out tickets above all earlier ones, like a lease counter. */
export function tailOf(seen: LineState | undefined, now: number): number {
  return seen?.tail ?? now;
}

/**
 * Guard: not written since it was observed; the caller has seen that it was cancelled before its turn, and that its turn has come.
 * Effect: it no longer stands in its line, and may be deleted. The same transaction passes the turn.
 * Outcomes: refused = another worker was faster, or the task was made ready again.
 */
export function leaveLine(table: string, observed: CancelledTask, stamp: EndStamp): Statement<'update'> {
  const leave = leaveFor(stamp);
  return updateTask('task.leaveLine', table, observed, stamp, {
    guard: '#nonce = :observedNonce',
    effect: `SET #ttl = :ttl, #nonce = :nonce${leave.set} ${leave.remove}`,
    omitsNewRow: true,
    values: leave.values,
  });
}

export const readLine = (table: string, queue: string, key: string): Statement<'get'> =>
  getStatement('line.get', table, lineKey(queue, key));

/** A turn only grows, so a turn that was read has come, also if the read was eventually consistent. */
export function readLines(
  table: string,
  queue: string,
  keys: readonly string[],
  consistent: boolean,
): Statement<'batchGet'> {
  const rows = keys.map((key) => lineKey(queue, key));
  return batchGetStatement('line.getMany', table, rows, { consistent });
}
