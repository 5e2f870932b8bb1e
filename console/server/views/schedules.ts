/** Schedules of some queues: what became of their last occurrences, and which are overdue. */
import { take } from '../../../shared/core/runtime/take.ts';
import type { ScheduleRecord } from '../../../shared/tasks/schedule/schedule.ts';
import {
  HORIZON_MS,
  lastOccurrence,
  nextOccurrence,
  occurrenceTaskId,
} from '../../../shared/tasks/schedule/schedule.ts';
import type { TaskRecord } from '../../../shared/tasks/task/task.ts';
import type { ConsoleConnection, Stores } from '../connection.ts';
import type { Count, ScheduleLine, SchedulePage, OccurrenceLine } from '../../model.ts';
import type { Priced } from '../shared-reads.ts';

const SCHEDULES_SHOWN = 50;
/** Half a unit each. */
const OCCURRENCES_SHOWN = 8;
const OVERDUE_COUNTED = 100;
/** The finest that cron expressions know. */
const SECOND_MS = 1_000;

export async function readSchedules(
  connection: ConsoleConnection,
  queues: readonly string[],
): Promise<Priced<SchedulePage>> {
  const stores = connection.open();
  const now = connection.now();
  const { rows: found, more: isMore } = await take(listed(stores, queues), SCHEDULES_SHOWN);
  const schedules = await Promise.all(found.map((schedule) => lineOf(stores, schedule, now)));
  return { value: { now, queues, schedules, isMore }, units: stores.spent() };
}

async function* listed({ schedules }: Stores, queues: readonly string[]): AsyncGenerator<ScheduleRecord> {
  for (const queue of queues) yield* schedules.list({ queue });
}

async function lineOf({ tasks }: Stores, schedule: ScheduleRecord, now: number): Promise<ScheduleLine> {
  const { queue, name, task, cron, zone, missed, overlap, pausedAt } = schedule;
  const { past, coming, overdue } = timesOf(schedule, now);
  const rows = await tasks.getMany(past.map((at) => ({ queue, id: occurrenceTaskId(schedule, at) })));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return {
    queue,
    name,
    task,
    cron,
    zone,
    missed,
    overlap,
    pausedAt: pausedAt ?? null,
    overdue,
    occurrences: [
      ...past.map((at) => occurrenceLine(schedule, at, byId)),
      ...(coming === undefined
        ? []
        : [{ at: coming, fate: 'next' as const, task: occurrenceTaskId(schedule, coming) }]),
    ],
  };
}

interface Times {
  readonly past: readonly number[];
  readonly coming: number | undefined;
  readonly overdue: Count;
}

function timesOf(schedule: ScheduleRecord, now: number): Times {
  try {
    return {
      past: [...lastOccurrences(schedule, now), ...missingTimes(schedule, now)]
        .sort((a, b) => a - b)
        .slice(-OCCURRENCES_SHOWN),
      coming: schedule.pausedAt === undefined ? nextOccurrence(schedule, now) : undefined,
      overdue: overdueOccurrences(schedule, now),
    };
  } catch {
    // This machine does not know the zone, or the expression is damaged, so only the row shows whether a run is due.
    const isDue = schedule.nextAt <= now;
    return { past: [], coming: undefined, overdue: { count: isDue ? 1 : 0, isMore: isDue } };
  }
}

function occurrenceLine(schedule: ScheduleRecord, at: number, tasks: ReadonlyMap<string, TaskRecord>): OccurrenceLine {
  const task = occurrenceTaskId(schedule, at);
  const state = tasks.get(task)?.state;
  if (state !== undefined) return { at, task, fate: state };
  const leftOut = schedule.leftOut.find((occurrence) => occurrence.at === at);
  return leftOut === undefined ? { at, task, fate: 'missing' } : { at, task, fate: 'missing', why: leftOut.why };
}

/** Times that the zone did not have. */
function missingTimes({ leftOut }: ScheduleRecord, now: number): readonly number[] {
  return leftOut.flatMap(({ at, why }) => (why === 'zone' && at > now - HORIZON_MS ? [at] : []));
}

/** Oldest first, without runs before its definition or beyond the retention of finished tasks. */
function lastOccurrences(schedule: ScheduleRecord, now: number): readonly number[] {
  const occurrences: number[] = [];
  const from = Math.max(schedule.definedAt, now - HORIZON_MS) + 1;
  let occurrence = lastOccurrence(schedule, { from, until: now });
  while (occurrence !== undefined && occurrences.length < OCCURRENCES_SHOWN) {
    occurrences.unshift(occurrence);
    occurrence = lastOccurrence(schedule, { from, until: occurrence - SECOND_MS });
  }
  return occurrences;
}

function overdueOccurrences(schedule: ScheduleRecord, now: number): Count {
  let count = 0;
  let occurrence: number | undefined = schedule.nextAt;
  while (occurrence !== undefined && occurrence <= now && count < OVERDUE_COUNTED) {
    count++;
    occurrence = nextOccurrence(schedule, occurrence);
  }
  return { count, isMore: occurrence !== undefined && occurrence <= now };
}
