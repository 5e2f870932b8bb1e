/**
 * The schedule row: a recurring task.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `schedule#<queue>#<name>`, `schedule` | put |
 * | v | N | schema version | put |
 * | queue, name | S | identity | put |
 * | task, input | S; S or B, JSON | the task of each occurrence | put |
 * | options | S, JSON | the options of its tasks, like `enqueue`'s | put |
 * | cron, zone | S | when | put |
 * | startAt, endAt, jitterMs | N, epoch ms; N, ms | the span of its runs; the time over which its tasks are spread | put |
 * | missed, toleranceMs | S; N, ms | how late runs are treated | put |
 * | overlap | S | how a run is treated while an earlier task has not ended | put |
 * | lastAt | N, epoch ms | the latest run with a task; absent: none | make, advance; removed by put, if it had been removed |
 * | leftOut | L of S, `<why>@<occurrence>` | the last runs that were left out | advance; removed as `lastAt` |
 * | pausedAt | N, epoch ms | start of the pause; absent: active | pause; removed by resume, and as `lastAt` |
 * | status | S | `removed`; absent: active | remove; removed by put |
 * | definedAt | N, epoch ms | when it was defined, or its definition changed | put |
 * | updatedAt | N, epoch ms | | all |
 * | nonce | S | of the last write | all |
 * | readyKey, readyAt | S; N, epoch ms | the ready index, in a partition of the queue's schedules; readyAt is the next run, absent without one | put, make, advance, resume; removed by pause, remove |
 * | directoryKey, directoryName | S | the listing | put; removed by remove |
 * | ttl | N, epoch s | removed schedules only | remove; removed by put |
 *
 * Removing a schedule keeps its row, so that a late copy of its definition, which is conditional on a missing row, cannot restore it.
 */
import type { Stamp } from '../../core/lease/write.ts';
import type {
  ScheduleDefinition,
  ScheduleRecord,
  RemovedSchedule,
  ScheduleKey,
  ScheduleStep,
} from '../schedule/schedule.ts';
import { LEFT_OUT_KEPT } from '../schedule/schedule.ts';
import { joinKey, scheduleKey } from '../../dynamo/engine/keys.ts';
import { READY_INDEX, RETENTION_DAYS, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement, UpdateParts } from '../../dynamo/engine/statement.ts';
import { storedJson } from '../../dynamo/engine/stored-json.ts';
import {
  batchGetStatement,
  directoryStatement,
  getStatement,
  queryStatement,
  updateStatement,
} from '../../dynamo/engine/statement.ts';
import type { Verb } from '../../dynamo/engine/verb.ts';

const IS_AS_OBSERVED = '#nonce = :observedNonce';
/** Status of a schedule that was removed. */
export const REMOVED = 'removed';

/**
 * Guard: not written since it was observed, or still absent.
 * Effect: defined again, due at `nextAt`. A paused schedule stays paused, and a removed one starts again.
 * Outcomes: refused = defined, advanced or removed since it was observed: read it again.
 */
export function putSchedule(
  table: string,
  definition: ScheduleDefinition,
  nextAt: number | undefined,
  observed: ScheduleRecord | RemovedSchedule | undefined,
  stamp: Stamp,
): Statement<'update'> {
  const { queue, name, task, input, options, cron, zone, missed, overlap, toleranceMs, jitterMs } = definition;
  const { startAt, endAt } = definition;
  const isPaused = observed !== undefined && !('isRemoved' in observed) && observed.pausedAt !== undefined;
  const due = isPaused ? undefined : nextAt;
  const span = { startAt, endAt };
  const absent = [
    ...Object.entries(span).flatMap(([attribute, at]) => (at === undefined ? [`#${attribute}`] : [])),
    ...(due === undefined ? ['#readyKey', '#readyAt'] : []),
    ...(observed !== undefined && 'isRemoved' in observed ? ['#lastAt', '#leftOut', '#pausedAt'] : []),
  ];
  return updateStatement('schedule.put', {
    table,
    key: scheduleKey(queue, name),
    guard: observed === undefined ? 'attribute_not_exists(#pk)' : IS_AS_OBSERVED,
    effect:
      'SET #v = :v, #queue = :queue, #name = :name, #task = :task, #input = :input, #options = :options, ' +
      '#cron = :cron, #zone = :zone, #missed = :missed, #overlap = :overlap, #toleranceMs = :toleranceMs, #jitterMs = :jitterMs, ' +
      (startAt === undefined ? '' : '#startAt = :startAt, ') +
      (endAt === undefined ? '' : '#endAt = :endAt, ') +
      (due === undefined ? '' : '#readyKey = :readyKey, #readyAt = :nextAt, ') +
      '#definedAt = :now, #updatedAt = :now, #nonce = :nonce, #directoryKey = :directory, #directoryName = :name ' +
      `REMOVE ${['#ttl', '#status', ...absent].join(', ')}`,
    stamp,
    values: {
      ':queue': queue,
      ':name': name,
      ':task': task,
      ':input': storedJson(input),
      ':options': JSON.stringify(options),
      ':cron': cron,
      ':zone': zone,
      ':missed': missed,
      ':overlap': overlap,
      ':toleranceMs': toleranceMs,
      ':jitterMs': jitterMs,
      ':directory': partitionOf(queue),
      ':startAt': startAt,
      ':endAt': endAt,
      ':readyKey': partitionOf(queue),
      ':nextAt': due,
      ':observedNonce': observed?.nonce,
    },
  });
}

/**
 * Guard: not written since it was observed.
 * Effect: due at the next run, or removed from the index if there is none. The same transaction creates the current run's task,
 *   under the verb `schedule.make`. If that task already exists, or the run is left out, this is the only write.
 * Outcomes: refused = another dispatcher advanced it, or it was defined again, paused or removed.
 */
export function advanceSchedule(
  table: string,
  observed: ScheduleRecord,
  { nextAt, lastAt = 0, leftOut }: ScheduleStep,
  stamp: Stamp,
  verb: 'schedule.advance' | 'schedule.make' = 'schedule.advance',
): Statement<'update'> {
  // A manually requested task does not change the next occurrence, and a paused schedule stays paused.
  const isMoved = nextAt !== observed.nextAt;
  const all = leftOut === undefined ? [] : [...observed.leftOut, leftOut];
  return updateObserved(verb, table, observed, stamp, {
    effect:
      'SET #updatedAt = :now, #nonce = :nonce' +
      (isMoved && nextAt !== undefined ? ', #readyAt = :nextAt' : '') +
      (lastAt === 0 ? '' : ', #lastAt = :lastAt') +
      (leftOut === undefined ? '' : ', #leftOut = :leftOut') +
      (isMoved && nextAt === undefined ? ' REMOVE #readyKey, #readyAt' : ''),
    values: {
      ':nextAt': nextAt,
      ':lastAt': Math.max(lastAt, observed.lastAt ?? 0),
      ':leftOut': all.slice(-LEFT_OUT_KEPT).map(({ at, why }) => `${why}@${at}`),
    },
  });
}

/**
 * Guard: not written since it was observed.
 * Effect: paused, and out of the index; or due again at `nextAt`.
 * Outcomes: refused = the row has changed: read it again.
 */
export function pauseSchedule(
  table: string,
  observed: ScheduleRecord,
  to: { readonly pausedAt: number } | { readonly nextAt: number | undefined },
  stamp: Stamp,
): Statement<'update'> {
  const rest = 'SET #updatedAt = :now, #nonce = :nonce';
  const pausedAt = 'pausedAt' in to ? to.pausedAt : undefined;
  const nextAt = 'nextAt' in to ? to.nextAt : undefined;
  return updateObserved(pausedAt === undefined ? 'schedule.resume' : 'schedule.pause', table, observed, stamp, {
    effect:
      pausedAt !== undefined
        ? `${rest}, #pausedAt = :pausedAt REMOVE #readyKey, #readyAt`
        : nextAt !== undefined
          ? `${rest}, #readyKey = :readyKey, #readyAt = :nextAt REMOVE #pausedAt`
          : `${rest} REMOVE #pausedAt`,
    values: { ':pausedAt': pausedAt, ':readyKey': partitionOf(observed.queue), ':nextAt': nextAt },
  });
}

/**
 * Guard: not written since it was observed.
 * Effect: removed, and deleted by TTL unless it is defined again; tasks created from it stay.
 * Outcomes: refused = written since it was observed, or already removed.
 */
export function removeSchedule(table: string, observed: ScheduleRecord, stamp: Stamp): Statement<'update'> {
  return updateObserved('schedule.remove', table, observed, stamp, {
    effect:
      'SET #status = :removed, #updatedAt = :now, #nonce = :nonce, #ttl = :ttl ' +
      'REMOVE #readyKey, #readyAt, #directoryKey, #directoryName',
    values: { ':removed': REMOVED, ':ttl': ttlEpochSeconds(stamp.now, RETENTION_DAYS.schedule) },
  });
}

/** Guard: not written since it was observed. */
function updateObserved(
  verb: Verb,
  table: string,
  { queue, name, nonce }: ScheduleRecord,
  stamp: Stamp,
  { effect, values }: Pick<UpdateParts, 'effect' | 'values'>,
): Statement<'update'> {
  const known = { ...values, ':observedNonce': nonce };
  return updateStatement(verb, {
    table,
    key: scheduleKey(queue, name),
    guard: IS_AS_OBSERVED,
    effect,
    stamp,
    values: known,
  });
}

/** Due schedules of a queue, longest due first. Eventually consistent: the row decides. */
export function dueSchedules(table: string, queue: string, now: number, after: unknown): Statement<'query'> {
  return queryStatement(
    'schedule.due',
    table,
    '#readyKey = :partition AND #readyAt <= :now',
    { ':partition': partitionOf(queue), ':now': now },
    { IndexName: READY_INDEX.name, after },
  );
}

/** Schedules of a queue by name. Eventually consistent. */
export const pageOfSchedules = (table: string, queue: string, after: unknown): Statement<'query'> =>
  directoryStatement('schedule.page', table, partitionOf(queue), '', { after });

export const readSchedule = (table: string, { queue, name }: ScheduleKey): Statement<'get'> =>
  getStatement('schedule.get', table, scheduleKey(queue, name));

export function readSchedules(table: string, keys: readonly ScheduleKey[]): Statement<'batchGet'> {
  const rows = keys.map(({ queue, name }) => scheduleKey(queue, name));
  return batchGetStatement('schedule.getMany', table, rows, { consistent: true });
}

/** The partition in both the ready index and the directory. It has two parts; partitions of tasks have three. */
function partitionOf(queue: string): string {
  return joinKey(['schedule', queue]);
}
