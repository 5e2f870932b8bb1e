/**
 * The schedule row: a recurring task.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `schedule#<queue>#<name>`, `schedule` | put |
 * | v | N | schema version | put |
 * | queue, name | S | identity | put |
 * | task, input, priority | S; S, JSON; S | the task of each scheduled run | put |
 * | cron, zone | S | when | put |
 * | missed, toleranceMs | S; N, ms | how late runs are treated | put |
 * | status | S | `removed`; absent: active | remove; removed by put |
 * | definedAt | N, epoch ms | when it was defined, or its definition changed | put |
 * | updatedAt | N, epoch ms | | all |
 * | nonce | S | of the last write | all |
 * | readyKey, readyAt | S; N, epoch ms | the ready index, in a partition of the queue's schedules; readyAt is the next run, absent without one | put, advance; removed by remove |
 * | directoryKey, directoryName | S | the listing | put; removed by remove |
 * | ttl | N, epoch s | removed schedules only | remove; removed by put |
 *
 * Removing it keeps the row, so that a late attempt to define it, which is conditional on a missing row, does not restore it.
 */
import type { Stamp } from '../../core/lease/stamp.ts';
import type { ScheduleDefinition, ScheduleRecord } from '../schedule/schedule.ts';
import type { RemovedSchedule, ScheduleKey } from '../schedule/schedule-store.ts';
import { joinKey, scheduleKey } from '../../dynamo/engine/keys.ts';
import { READY_INDEX, RETENTION_DAYS, SCHEMA_VERSION, ttlEpochSeconds } from '../../dynamo/engine/schema.ts';
import type { Statement } from '../../dynamo/engine/statement.ts';
import {
  batchGetStatement,
  directoryStatement,
  getStatement,
  queryStatement,
  updateStatement,
} from '../../dynamo/engine/statement.ts';

const IS_AS_OBSERVED = '#nonce = :observedNonce';
/** Status of a schedule that was removed. */
export const REMOVED = 'removed';

/**
 * Guard: not written since it was observed, or still absent.
 * Effect: defined again, due at `nextAt`, even if it had been removed.
 * Outcomes: refused = it was defined, advanced or removed since: read it again.
 */
export function putSchedule(
  table: string,
  definition: ScheduleDefinition,
  nextAt: number,
  observed: ScheduleRecord | RemovedSchedule | undefined,
  { now, nonce }: Stamp,
): Statement<'update'> {
  const { queue, name, task, input, priority, cron, zone, missed, toleranceMs } = definition;
  return updateStatement('schedule.put', {
    table,
    key: scheduleKey(queue, name),
    guard: observed === undefined ? 'attribute_not_exists(#pk)' : IS_AS_OBSERVED,
    effect:
      'SET #v = :v, #queue = :queue, #name = :name, #task = :task, #input = :input, #priority = :priority, ' +
      '#cron = :cron, #zone = :zone, #missed = :missed, #toleranceMs = :toleranceMs, #definedAt = :now, #updatedAt = :now, #nonce = :nonce, ' +
      '#readyKey = :readyKey, #readyAt = :nextAt, #directoryKey = :directory, #directoryName = :name ' +
      'REMOVE #ttl, #status',
    values: {
      ':v': SCHEMA_VERSION,
      ':queue': queue,
      ':name': name,
      ':task': task,
      ':input': JSON.stringify(input),
      ':priority': priority,
      ':cron': cron,
      ':zone': zone,
      ':missed': missed,
      ':toleranceMs': toleranceMs,
      ':now': now,
      ':nonce': nonce,
      ':nextAt': nextAt,
      ':readyKey': partitionOf(queue),
      ':directory': partitionOf(queue),
      ...(observed === undefined ? {} : { ':observedNonce': observed.nonce }),
    },
  });
}

/**
 * Guard: not written since it was observed; the caller has created the tasks of the runs before `nextAt`.
 * Effect: on to the next run, or out of the index without one.
 * Outcomes: refused = another dispatcher advanced it, or it was defined again.
 */
export function advanceSchedule(
  table: string,
  observed: ScheduleRecord,
  nextAt: number | undefined,
  { now, nonce }: Stamp,
): Statement<'update'> {
  const rest = 'SET #updatedAt = :now, #nonce = :nonce';
  return updateStatement('schedule.advance', {
    table,
    key: scheduleKey(observed.queue, observed.name),
    guard: IS_AS_OBSERVED,
    effect: nextAt === undefined ? `${rest} REMOVE #readyKey, #readyAt` : `${rest}, #readyAt = :nextAt`,
    values: {
      ':observedNonce': observed.nonce,
      ':now': now,
      ':nonce': nonce,
      ...(nextAt === undefined ? {} : { ':nextAt': nextAt }),
    },
  });
}

/**
 * Guard: not written since it was observed.
 * Effect: removed, and deleted by TTL unless it is defined again; tasks created from it stay.
 * Outcomes: refused = written since, or already removed.
 */
export function removeSchedule(table: string, observed: ScheduleRecord, { now, nonce }: Stamp): Statement<'update'> {
  return updateStatement('schedule.remove', {
    table,
    key: scheduleKey(observed.queue, observed.name),
    guard: IS_AS_OBSERVED,
    effect:
      'SET #status = :removed, #updatedAt = :now, #nonce = :nonce, #ttl = :ttl ' +
      'REMOVE #readyKey, #readyAt, #directoryKey, #directoryName',
    values: {
      ':observedNonce': observed.nonce,
      ':removed': REMOVED,
      ':now': now,
      ':nonce': nonce,
      ':ttl': ttlEpochSeconds(now, RETENTION_DAYS.schedule),
    },
  });
}

/** Schedules of a queue that are due, longest due first. Eventually consistent: the index proposes, the row disposes. */
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
  directoryStatement('schedule.page', table, partitionOf(queue), '', after);

export const readSchedule = (table: string, { queue, name }: ScheduleKey): Statement<'get'> =>
  getStatement('schedule.get', table, scheduleKey(queue, name));

export const readSchedules = (table: string, keys: readonly ScheduleKey[]): Statement<'batchGet'> =>
  batchGetStatement(
    'schedule.getMany',
    table,
    keys.map(({ queue, name }) => scheduleKey(queue, name)),
    { consistent: true },
  );

/** The partition in both the ready index and the directory; it has two parts, unlike partitions of tasks, which have three. */
function partitionOf(queue: string): string {
  return joinKey(['schedule', queue]);
}
