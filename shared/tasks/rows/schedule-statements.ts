/**
 * The schedule row: a task that recurs.
 *
 * | attribute | type | meaning | written by |
 * | --- | --- | --- | --- |
 * | pk, sk | S | `schedule#<queue>#<name>`, `schedule` | put |
 * | v | N | schema version | put |
 * | queue, name | S | identity | put |
 * | task, input | S; S, JSON | what each slot becomes | put |
 * | options | S, JSON | what the tasks of its slots have, as `enqueue` takes it | put |
 * | cron, zone | S | when | put |
 * | startAt, endAt, jitterMs | N, epoch ms; N, ms | the span of its slots; over what time its tasks are spread | put |
 * | missed, toleranceMs | S; N, ms | what becomes of slots that come late | put |
 * | overlap | S | what becomes of a slot while one of its tasks has not ended | put |
 * | lastAt | N, epoch ms | the latest slot that was given a task; absent: none was | make, advance; removed by put, if it had been removed |
 * | leftOut | L of S, `<why>@<slot>` | the last slots that were left out | advance; removed as `lastAt` |
 * | pausedAt | N, epoch ms | since when it is paused; absent: it is not | pause; removed by resume, and as `lastAt` |
 * | status | S | `removed`; absent: it is there | remove; removed by put |
 * | definedAt | N, epoch ms | when it was defined, or defined otherwise | put |
 * | updatedAt | N, epoch ms | | all |
 * | nonce | S | of the last write | all |
 * | readyKey, readyAt | S; N, epoch ms | the ready index, in a partition of the queue's schedules; readyAt is the next slot, absent when none comes | put, make, advance, resume; removed by pause, remove |
 * | directoryKey, directoryName | S | the listing | put; removed by remove |
 * | ttl | N, epoch s | sweeping of removed schedules; others have none | remove; removed by put |
 *
 * Removing it keeps the row, so that a late attempt to define it, which rests on there being none, does not bring it back.
 */
import type { Stamp } from '../../core/lease/stamp.ts';
import type { ScheduleDefinition, ScheduleRecord } from '../schedule/schedule.ts';
import { LEFT_OUT_KEPT } from '../schedule/schedule.ts';
import type { RemovedSchedule, ScheduleKey, ScheduleStep } from '../schedule/schedule-store.ts';
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
 * Effect: defined again, due at `nextAt`; one that is paused stays so, and one that had been removed begins anew.
 * Outcomes: refused = it was defined, moved or removed meanwhile: look again.
 */
export function putSchedule(
  table: string,
  definition: ScheduleDefinition,
  nextAt: number | undefined,
  observed: ScheduleRecord | RemovedSchedule | undefined,
  { now, nonce }: Stamp,
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
    values: {
      ':v': SCHEMA_VERSION,
      ':queue': queue,
      ':name': name,
      ':task': task,
      ':input': JSON.stringify(input),
      ':options': JSON.stringify(options),
      ':cron': cron,
      ':zone': zone,
      ':missed': missed,
      ':overlap': overlap,
      ':toleranceMs': toleranceMs,
      ':jitterMs': jitterMs,
      ':now': now,
      ':nonce': nonce,
      ':directory': partitionOf(queue),
      ...(startAt === undefined ? {} : { ':startAt': startAt }),
      ...(endAt === undefined ? {} : { ':endAt': endAt }),
      ...(due === undefined ? {} : { ':readyKey': partitionOf(queue), ':nextAt': due }),
      ...(observed === undefined ? {} : { ':observedNonce': observed.nonce }),
    },
  });
}

/**
 * Guard: not written since it was observed.
 * Effect: on to the next slot, or out of the index when none comes any more. In one transaction with the task of the slot that it leaves
 *   behind, under the verb `schedule.make`; alone if that task is there already, or the slot is left out.
 * Outcomes: refused = another dispatcher moved it, or it was defined again, paused or removed.
 */
export function advanceSchedule(
  table: string,
  observed: ScheduleRecord,
  { nextAt, lastAt, leftOut }: ScheduleStep,
  { now, nonce }: Stamp,
  verb: 'schedule.advance' | 'schedule.make' = 'schedule.advance',
): Statement<'update'> {
  // A task that was asked for by hand leaves the next slot as it is, or the schedule paused.
  const isMoved = nextAt !== observed.nextAt;
  return updateStatement(verb, {
    table,
    key: scheduleKey(observed.queue, observed.name),
    guard: IS_AS_OBSERVED,
    effect:
      'SET #updatedAt = :now, #nonce = :nonce' +
      (isMoved && nextAt !== undefined ? ', #readyAt = :nextAt' : '') +
      (lastAt === undefined ? '' : ', #lastAt = :lastAt') +
      (leftOut === undefined ? '' : ', #leftOut = :leftOut') +
      (isMoved && nextAt === undefined ? ' REMOVE #readyKey, #readyAt' : ''),
    values: {
      ':observedNonce': observed.nonce,
      ':now': now,
      ':nonce': nonce,
      ...(isMoved && nextAt !== undefined ? { ':nextAt': nextAt } : {}),
      ...(lastAt === undefined ? {} : { ':lastAt': Math.max(lastAt, observed.lastAt ?? 0) }),
      ...(leftOut === undefined
        ? {}
        : { ':leftOut': [...observed.leftOut, leftOut].slice(-LEFT_OUT_KEPT).map(({ at, why }) => `${why}@${at}`) }),
    },
  });
}

/**
 * Guard: not written since it was observed.
 * Effect: paused, and out of the index; or due again at `nextAt`.
 * Outcomes: refused = written meanwhile: look again.
 */
export function pauseSchedule(
  table: string,
  observed: ScheduleRecord,
  to: { readonly pausedAt: number } | { readonly nextAt: number | undefined },
  { now, nonce }: Stamp,
): Statement<'update'> {
  const rest = 'SET #updatedAt = :now, #nonce = :nonce';
  const pausedAt = 'pausedAt' in to ? to.pausedAt : undefined;
  const nextAt = 'nextAt' in to ? to.nextAt : undefined;
  return updateStatement(pausedAt === undefined ? 'schedule.resume' : 'schedule.pause', {
    table,
    key: scheduleKey(observed.queue, observed.name),
    guard: IS_AS_OBSERVED,
    effect:
      pausedAt !== undefined
        ? `${rest}, #pausedAt = :pausedAt REMOVE #readyKey, #readyAt`
        : nextAt !== undefined
          ? `${rest}, #readyKey = :readyKey, #readyAt = :nextAt REMOVE #pausedAt`
          : `${rest} REMOVE #pausedAt`,
    values: {
      ':observedNonce': observed.nonce,
      ':now': now,
      ':nonce': nonce,
      ...(pausedAt === undefined ? {} : { ':pausedAt': pausedAt }),
      ...(nextAt === undefined ? {} : { ':readyKey': partitionOf(observed.queue), ':nextAt': nextAt }),
    },
  });
}

/**
 * Guard: not written since it was observed.
 * Effect: removed and sweepable, unless it is defined again; the tasks that its slots became stay.
 * Outcomes: refused = written meanwhile, or removed already.
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

/** The partition in the ready index and in the directory alike; two parts, so that it is no partition of tasks, which have three. */
function partitionOf(queue: string): string {
  return joinKey(['schedule', queue]);
}
