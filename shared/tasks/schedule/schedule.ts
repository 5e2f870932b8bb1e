/**
 * A schedule: a task that recurs by a cron expression, in the time of a zone.
 *
 * Guarantees
 *   - Each slot becomes at most one task. The slot is the task's id, and enqueuing is put-if-absent, so that any number of dispatchers
 *     may see the same slot due, and die at any point of it.
 *   - A slot that the policy keeps is never lost: the schedule is moved on only after its tasks are there.
 *
 * Does not guarantee
 *   - Punctuality. A slot becomes a task with the first tick of a dispatcher after it.
 *   - Slots older than `HORIZON_MS`: the tasks that they may have become are swept some day, and would be made a second time.
 *
 * Clock: a slot is due by the dispatcher's wall clock; being wrong changes when its task is made, never how often.
 */
import type { CronTimes } from './cron.ts';
import { slotAfter, slotUpTo } from './cron.ts';
import type { Json, Priority } from '../task/task.ts';

/**
 * What becomes of slots that were missed, because no dispatcher ran:
 * `skip`  a slot that is later than the tolerance is left out.
 * `last`  the latest of them is made up for.
 * `all`   each of them is made up for, oldest first.
 */
export const MISSED_POLICIES = ['skip', 'last', 'all'] as const;
export type MissedPolicy = (typeof MISSED_POLICIES)[number];

export interface ScheduleDefinition extends CronTimes {
  readonly queue: string;
  readonly name: string;
  /** The name of the task that each slot becomes. */
  readonly task: string;
  readonly input: Json;
  readonly priority: Priority;
  readonly missed: MissedPolicy;
  /** By how much a slot may be late and still count as on time; only `skip` asks. */
  readonly toleranceMs: number;
}

export interface ScheduleRecord extends ScheduleDefinition {
  /** When it was defined, or defined otherwise: it has no slots before. */
  readonly definedAt: number;
  /** The first slot that has not become a task yet, nor been left out. */
  readonly nextAt: number;
  readonly nonce: string;
}

/** Half of what finished tasks are kept for: a slot that is younger still finds the task that it became. */
export const HORIZON_MS = 7 * 86_400_000;
/** Slots of one schedule that one tick makes up for; the next tick goes on. */
const SLOTS_PER_TICK = 100;
/** Due schedules of a queue that one tick serves; the next tick goes on. */
export const SCHEDULES_PER_TICK = 1_000;

interface DueSlots {
  /** Slots that become tasks now, oldest first. */
  readonly slots: readonly number[];
  /** Where the schedule goes on; undefined when no slot ever comes again. */
  readonly nextAt: number | undefined;
}

/** What a schedule owes at `now`: pure. */
export function dueSlots(schedule: ScheduleRecord, now: number): DueSlots {
  if (schedule.nextAt > now) return { slots: [], nextAt: schedule.nextAt };
  if (schedule.missed === 'all') return everySlot(schedule, now);
  const latest = Math.max(schedule.nextAt, slotUpTo(schedule, now) ?? 0);
  const isKept = schedule.missed === 'last' || now - latest <= schedule.toleranceMs;
  return { slots: isKept ? [latest] : [], nextAt: slotAfter(schedule, latest) };
}

function everySlot(schedule: ScheduleRecord, now: number): DueSlots {
  const slots: number[] = [];
  let slot: number | undefined = schedule.nextAt;
  if (slot < now - HORIZON_MS) slot = slotAfter(schedule, now - HORIZON_MS);
  while (slot !== undefined && slot <= now && slots.length < SLOTS_PER_TICK) {
    slots.push(slot);
    slot = slotAfter(schedule, slot);
  }
  return { slots, nextAt: slot };
}

/** The id of the task that a slot becomes: the schedule's name and the scheduled moment. */
export function slotTaskId({ name }: Pick<ScheduleDefinition, 'name'>, slot: number): string {
  return `${name}@${new Date(slot).toISOString()}`;
}
