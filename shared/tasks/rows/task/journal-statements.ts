/**
 * The task row, continued: the journal of a durable task. A task that is not durable has none of these attributes.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | journal | L of S or B | the newest elements, in order: first what its holder has written or folded, deflated; then arrivals | checkpoint, spill, suspend, arrive, end |
 * | journalPart | S | name of the newest row with older elements; absent: none | spill |
 * | open | SS | operations that wait for something from outside, each with a secret or a number; absent: none | checkpoint, spill, arrive |
 * | beats | M of N, epoch ms | last heartbeats of callbacks, by operation | checkpoint, spill, beat |
 * | notify | M: queue, id, openKey | of a child: the durable task that waits for its end | enqueue |
 *
 * A row `journal#<queue>#<task id>`, `part#<name>`, whose text never changes:
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | v | N | schema version | spill |
 * | text | S or B, JSON | elements that have left the task's row | spill |
 * | before | S | name of the row before it; absent: it is the first | spill |
 * | ttl | N, epoch s | while the execution may go on or be retried; of a done task, as its own row | spill, expire |
 *
 * The name of a row has the counter and the number of the write that made it, so it is written before the task's row, without a
 * transaction, which would cost twice. If that write is refused or lost, nobody reads the row, and TTL deletes it.
 *
 * *Seen* is the number of the row's elements that the writer has folded. Each writer other than the holder adds an element, so
 * `size(#journal)` shows whether the holder would overlook one. All of the first five are removed when the task gets other work.
 */
import { defined } from '../../../core/defined.ts';
import type { RowKey } from '../../../dynamo/engine/keys.ts';
import { journalKey, taskKey } from '../../../dynamo/engine/keys.ts';
import { RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../../dynamo/engine/schema.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import { updateStatement } from '../../../dynamo/engine/statement.ts';
import type { StoredText } from '../../../dynamo/engine/stored-json.ts';
import { storedText } from '../../../dynamo/engine/stored-json.ts';
import type { CheckpointWrite, JournalPart, JournalTail } from '../../durable/journal-store.ts';
import type { SequencedStamp } from '../../task/task-store.ts';
import type { Claim, TaskError, TaskKey } from '../../task/task.ts';
import { APPEND } from './arrival-statements.ts';
import type { EndStamp } from './ended-entries.ts';
import { LEAVE_READY, leaveFor } from './ended-entries.ts';
import { andLeave, moveInTime } from './place.ts';
import {
  FINISH,
  HAS_NO_FOLLOWER,
  IS_MINE,
  LEAVE_CLAIM,
  LIST_AS_DEAD,
  deathValues,
  finishValues,
  mineValues,
} from './task-statements.ts';

/**
 * Guard: mine, and later than the last write of this claim; and nothing is in the row that the writer has not seen.
 * Effect: the row has this part of the journal, and waits for the operations that it opens.
 *   `task.spill`: the elements leave the row. They are in separate rows, written before.
 * Outcomes: refused = taken over, or something has arrived: read the row that refused.
 */
export function writeJournal(
  table: string,
  claim: Claim,
  { elements, seen, newParts, opened, closed, hasBeats }: CheckpointWrite,
  { nonce, sequence }: SequencedStamp,
): Statement<'update'> {
  const part = newParts.at(-1)?.name;
  const moved = part === undefined ? '' : ', #journalPart = :part';
  const beats = hasBeats ? ', #beats = if_not_exists(#beats, :noBeats)' : '';
  const open = `${opened.length === 0 ? '' : ' ADD #open :opened'}${closed.length === 0 ? '' : ' DELETE #open :closed'}`;
  return updateStatement(part === undefined ? 'task.checkpoint' : 'task.spill', {
    table,
    key: taskKey(claim.queue, claim.id),
    guard: `${IS_MINE} AND #sequence < :sequence AND ${hasSeen(seen)}`,
    effect: `SET #journal = :elements, #sequence = :sequence, #nonce = :nonce${moved}${beats}${open}`,
    omitsNewRow: true,
    values: {
      ...mineValues(claim),
      ':seen': seen,
      ':elements': [...elements],
      ':sequence': sequence,
      ':nonce': nonce,
      ...defined({ ':part': part }),
      ...(hasBeats ? { ':noBeats': {} } : {}),
      ...(opened.length === 0 ? {} : { ':opened': new Set(opened) }),
      ...(closed.length === 0 ? {} : { ':closed': new Set(closed) }),
    },
  });
}

/** Unguarded, because no other write has its name, and the guard of the write that names it decides. */
export function putJournalPart(
  table: string,
  { queue, id }: TaskKey,
  { name, before, text }: JournalPart,
  keptUntil: number,
): Statement<'put'> {
  const ttl = ttlEpochSeconds(keptUntil, RETENTION_DAYS.task);
  const Item = {
    ...journalKey(queue, id, name),
    v: SCHEMA_VERSION,
    text: storedText(text),
    ...defined({ before }),
    ttl,
  };
  return { verb: 'journal.put', kind: 'put', input: { TableName: table, Item, ReturnConsumedCapacity: 'TOTAL' } };
}

/**
 * Guard: the row exists.
 * Effect: a row of a done task is kept as long as the task's own.
 * Outcomes: refused = TTL has deleted it.
 */
export function expireRow(table: string, key: RowKey, now: number): Statement<'update'> {
  return updateStatement('journal.expire', {
    table,
    key,
    guard: 'attribute_exists(#ttl)',
    effect: 'SET #ttl = :ttl',
    omitsNewRow: true,
    values: { ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.task) },
  });
}

/**
 * Guard: mine; no request to cancel it, which nobody would see for as long as it waits; and nothing is in the row that the writer has not
 *   seen.
 * Effect: ready at readyAt, or never by time; the attempt refunded. It leaves no past attempt: the journal has it.
 * Outcomes: refused = taken over, cancelled, or something has arrived: continue with it.
 */
export function suspendTask(
  table: string,
  claim: Claim,
  { elements, seen, readyAt }: JournalTail & { readonly readyAt: number },
  shards: number,
  { now, nonce, sequence }: SequencedStamp,
): Statement<'update'> {
  const later = moveInTime(claim, { readyAt, now, shards });
  return updateStatement('task.suspend', {
    table,
    key: taskKey(claim.queue, claim.id),
    guard:
      `${IS_MINE} AND ${HAS_NO_FOLLOWER} AND attribute_not_exists(#cancellation) ` +
      `AND #sequence < :sequence AND ${hasSeen(seen)}`,
    effect:
      `SET #state = :ready, #attempts = #attempts - :one, ${later.effect}, #journal = :elements, #nonce = :nonce ` +
      `${LEAVE_CLAIM}, #failingSince, #handBacks${andLeave(later)}`,
    omitsNewRow: true,
    values: {
      ...mineValues(claim),
      ...later.values,
      ':seen': seen,
      ':ready': 'ready',
      ':one': 1,
      ':elements': [...elements],
      ':nonce': nonce,
      ':sequence': sequence,
    },
  });
}

/**
 * Guard: mine, and later than the last write of this claim.
 * Effect: done, with its result, or dead, with its error; with the last elements of the journal. A dead task still knows what it waits
 *   for, because an operator may retry it.
 * Outcomes: refused = taken over.
 */
export function endDurable(
  table: string,
  claim: Claim,
  elements: readonly string[],
  { result, error }: { readonly result?: StoredText | undefined; readonly error?: TaskError | undefined },
  stamp: SequencedStamp & EndStamp,
): Statement<'update'> {
  const leave = leaveFor(stamp);
  const end =
    error === undefined
      ? {
          effect: `${result === undefined ? '' : ', #result = :result'}${leave.set} ${leave.remove}, #open`,
          values: { ...leave.values, ...defined({ ':result': result }) },
        }
      : { effect: `, #lastError = :error, ${LIST_AS_DEAD} ${LEAVE_READY}`, values: deathValues(claim, error, stamp) };
  return updateStatement(error === undefined ? 'task.complete' : 'task.discard', {
    table,
    key: taskKey(claim.queue, claim.id),
    guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER} AND #sequence < :sequence`,
    effect: `${FINISH}, ${APPEND}${end.effect}`,
    omitsNewRow: true,
    values: {
      ...mineValues(claim),
      ...finishValues(error === undefined ? 'done' : 'dead', stamp),
      ':elements': [...elements],
      ':none': [],
      ':sequence': stamp.sequence,
      ...end.values,
    },
  });
}

/** Without a journal, there is nothing to count: an arrival needs an operation that waits, and so a first write of the holder. */
function hasSeen(seen: number): string {
  return seen === 0 ? '(attribute_not_exists(#journal) OR size(#journal) = :seen)' : 'size(#journal) = :seen';
}
