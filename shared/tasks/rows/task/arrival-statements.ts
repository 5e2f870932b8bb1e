/**
 * The task row, continued: what arrives from outside for a durable task. `journal-statements.ts` has the rest of its journal.
 *
 * A row `arrival#<queue>#<task id>`, with the operation's key as its sort key, exists for two reasons:
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | v | N | schema version | arrive |
 * | queue, id | S | the task. The stream passes an inserted row on to the waker, which starts a worker | arrive |
 * | text | S or B, JSON | result and error, if they are larger than 1 KB; otherwise the row is only for the waker | arrive |
 * | ttl | N, epoch s | a day; of a row with text a year, and once its task is done, as long as the task's own row | arrive, expire |
 */
import type { Stamp } from '../../../core/lease/write.ts';
import { arrivalKey, journalKey, taskKey } from '../../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { queryStatement, updateStatement } from '../../../dynamo/engine/statement.ts';
import { storedText } from '../../../dynamo/engine/stored-json.ts';
import type { Arrival } from '../../durable/journal-store.ts';
import type { TaskKey, TaskRecord } from '../../task/task.ts';
import { andLeave, moveInTime } from './place.ts';

export const APPEND = '#journal = list_append(if_not_exists(#journal, :none), :elements)';

/**
 * Guard: it waits for this operation, and is in the state that was read; if it was read as ready, not written since, because its place in
 *   the index depends on the observed row.
 * Effect: the arrival is in the journal, and no longer waited for. A suspended task is due at once, with a new nonce, so that no claim is
 *   based on an older read. While it runs the nonce stays, so that its holder still recognizes its own writes by it.
 * Outcomes: refused = it has arrived already, has timed out, or the task has been claimed, suspended or ended since: read it again.
 */
export function arrive(
  table: string,
  task: TaskRecord,
  { openKey, element }: Pick<Arrival, 'openKey' | 'element'>,
  shards: number,
  { now, nonce }: Stamp,
): Statement<'update'> {
  const due = task.state === 'ready' ? moveInTime(task, { readyAt: now, now, shards }) : undefined;
  const left = due === undefined ? '' : andLeave(due).replace(/^, /, ' REMOVE ');
  return updateStatement('task.arrive', {
    table,
    key: taskKey(task.queue, task.id),
    guard: `#state = :state AND contains(#open, :openKey)${due === undefined ? '' : ' AND #nonce = :observedNonce'}`,
    effect: `SET ${APPEND}${due === undefined ? '' : `, ${due.effect}, #nonce = :nonce`}${left} DELETE #open :openKeys`,
    omitsNewRow: true,
    values: {
      ...(due === undefined ? {} : { ...due.values, ':observedNonce': task.nonce, ':nonce': nonce }),
      ':state': task.state,
      ':openKey': openKey,
      ':openKeys': new Set([openKey]),
      ':elements': [element],
      ':none': [],
    },
  });
}

/** Unguarded: with a text, the guard of the transaction that names it decides; without one, the row only wakes a worker. */
export function putArrival(
  table: string,
  { queue, id }: TaskKey,
  { openKey, content }: Pick<Arrival, 'openKey' | 'content'>,
  now: number,
): Statement<'put'> {
  const days = content === undefined ? 1 : RETENTION_DAYS.payload;
  const text = content === undefined ? {} : { text: storedText(content) };
  const Item = {
    ...arrivalKey(queue, id, openKey),
    v: SCHEMA_VERSION,
    queue,
    id,
    ...text,
    ttl: ttlEpochSeconds(now, days),
  };
  return { verb: 'arrival.put', kind: 'put', input: { TableName: table, Item, ReturnConsumedCapacity: 'TOTAL' } };
}

/**
 * Guard: the callback waits, and its task has not ended.
 * Effect: its last heartbeat. The task is not moved: at the next time-out of a heartbeat it wakes, and finds this.
 * Outcomes: refused = the callback is over.
 */
export function beat(
  table: string,
  { queue, id }: TaskKey,
  { openKey, op }: { readonly openKey: string; readonly op: string },
  now: number,
): Statement<'update'> {
  return updateStatement('task.beat', {
    table,
    key: taskKey(queue, id),
    guard: 'contains(#open, :openKey) AND #state IN (:ready, :running)',
    effect: 'SET #beats.#OP = :now',
    omitsNewRow: true,
    values: { ':openKey': openKey, ':now': now, ':ready': 'ready', ':running': 'running' },
    mapKeys: { '#OP': op },
  });
}

/** `journal.page`: also rows of other work under the id, and of writes that were refused afterwards. */
export function pageOf(
  verb: 'arrival.page' | 'journal.page',
  table: string,
  { queue, id }: TaskKey,
  after: unknown,
): Statement<'query'> {
  const { pk } = (verb === 'arrival.page' ? arrivalKey : journalKey)(queue, id, '');
  return queryStatement(verb, table, '#pk = :pk', { ':pk': pk }, { after, ConsistentRead: true });
}
