/**
 * A schedule: a task that recurs by a cron expression, in the time of a zone.
 *
 * Guarantees
 *   - Each slot becomes at most one task, and a slot that the policies keep is never lost: the transaction that makes the task also
 *     advances
 *     the schedule. Any number of dispatchers may see the same slot due, and crash at any point of it.
 *   - With every overlap policy but `allow`, no two tasks of a schedule run at once: they are in their own line (`task/line.ts`),
 *     in which a task that is retried, snoozed or waits for its children blocks the others. This includes tasks of `run`, and dead
 *     tasks.
 *   - The intervals [since, at) of a schedule's tasks follow each other without a gap and do not overlap.
 *
 * Does not guarantee
 *   - Punctuality. A slot becomes a task with the first tick of a dispatcher after it.
 *   - Slots older than `HORIZON_MS`: with `missed: 'all'` they are left out.
 *
 * Clock: a slot is due by the dispatcher's wall clock; a wrong clock changes when its task is made, never how often.
 */
import { sha256 } from '../../core/runtime/sha256.ts';
import type { CronTimes } from './cron.ts';
import { lastSlotWithin, slotAfter } from './cron.ts';
import type { SharedTaskOptions } from '../task/task-request.ts';
import type { Json, SlotOfTask } from '../task/task.ts';

/**
 * Policies for slots that were missed because no dispatcher ran:
 * `skip`  a slot that is later than the tolerance is left out.
 * `last`  only the latest missed slot becomes a task.
 * `all`   each missed slot becomes a task, oldest first.
 */
export const MISSED_POLICIES = ['skip', 'last', 'all'] as const;
export type MissedPolicy = (typeof MISSED_POLICIES)[number];

/**
 * Policies for a slot while a task of the schedule has not ended:
 * `queue`    its task waits until the earlier task has ended.
 * `skip`     the slot is left out.
 * `replace`  the earlier task is asked to stop, as by cancel, and the slot's task begins when it has ended.
 * `allow`    its task runs alongside the earlier task.
 */
export const OVERLAP_POLICIES = ['queue', 'skip', 'replace', 'allow'] as const;
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];

export interface ScheduleDefinition extends CronTimes {
  readonly queue: string;
  readonly name: string;
  /** The name of the task that each slot becomes. */
  readonly task: string;
  readonly input: Json;
  /** Options of the schedule's tasks, like `enqueue`'s. */
  readonly options: Omit<SharedTaskOptions, 'queue'>;
  readonly missed: MissedPolicy;
  readonly overlap: OverlapPolicy;
  /** By how much a slot may be late and still count as on time; only `skip` asks. */
  readonly toleranceMs: number;
  /** Its first slot is not before this moment. */
  readonly startAt: number | undefined;
  /** Its last slot is before this moment. */
  readonly endAt: number | undefined;
  /** The tasks of its slots are due by some part of this later than their slots, always the same part. */
  readonly jitterMs: number;
}

export interface ScheduleRecord extends ScheduleDefinition {
  /** When it was defined, or defined otherwise: it has no slots before. */
  readonly definedAt: number;
  /** The first slot that has neither become a task nor been left out; Infinity: no slot remains, or the schedule is paused. */
  readonly nextAt: number;
  /** The latest slot that was given a task. */
  readonly lastAt: number | undefined;
  /** When it was paused; absent: it is not. */
  readonly pausedAt: number | undefined;
  /** Slots that were left out, and why: the last few. */
  readonly leftOut: readonly LeftOutSlot[];
  readonly nonce: string;
}

export interface LeftOutSlot {
  readonly at: number;
  /** A task of the schedule had not ended, or no dispatcher had run for longer than the tolerance. */
  readonly why: 'overlap' | 'late';
}

/** Half of what finished tasks are kept for: a slot that is younger still finds the task that it became. */
export const HORIZON_MS = 7 * 86_400_000;
/** Maximum number of slots of one schedule per tick; the next tick continues. */
const SLOTS_PER_TICK = 100;
/** Maximum number of due schedules of a queue per tick; the next tick continues. */
export const SCHEDULES_PER_TICK = 1_000;
/** Left-out slots that a schedule's row keeps. */
export const LEFT_OUT_KEPT = 8;

interface DueSlots {
  /** Slots that become tasks now, oldest first. */
  readonly slots: readonly number[];
  /** A slot that is too late to become one. */
  readonly late?: number;
  /** The schedule's next slot; undefined if no slot remains. */
  readonly nextAt: number | undefined;
}

/** The first slot after a moment; undefined when there is none any more. */
export function nextSlot(schedule: ScheduleDefinition, after: number): number | undefined {
  const { startAt = 0, endAt = Infinity } = schedule;
  const slot = slotAfter(schedule, Math.max(after, startAt - 1));
  return slot === undefined || slot >= endAt ? undefined : slot;
}

/** The last slot of a span, both ends included; undefined when there is none. */
export function lastSlot(
  schedule: ScheduleDefinition,
  span: { readonly from: number; readonly until: number },
): number | undefined {
  return lastSlotWithin((after) => nextSlot(schedule, after), span);
}

/** Returns the slots that a schedule owes at `now`: a pure function. */
export function dueSlots(schedule: ScheduleRecord, now: number): DueSlots {
  if (schedule.nextAt > now) return { slots: [], nextAt: schedule.nextAt };
  if (schedule.missed === 'all') return everySlot(schedule, now);
  const following = nextSlot(schedule, schedule.nextAt);
  const isLatest = following === undefined || following > now;
  const latest = isLatest ? schedule.nextAt : (lastSlot(schedule, { from: following, until: now }) ?? following);
  const nextAt = isLatest ? following : nextSlot(schedule, latest);
  const isKept = schedule.missed === 'last' || now - latest <= schedule.toleranceMs;
  return isKept ? { slots: [latest], nextAt } : { slots: [], late: latest, nextAt };
}

function everySlot(schedule: ScheduleRecord, now: number): DueSlots {
  const slots: number[] = [];
  let slot: number | undefined = schedule.nextAt;
  if (slot < now - HORIZON_MS) slot = nextSlot(schedule, now - HORIZON_MS);
  while (slot !== undefined && slot <= now && slots.length < SLOTS_PER_TICK) {
    slots.push(slot);
    slot = nextSlot(schedule, slot);
  }
  return { slots, nextAt: slot };
}

/** By how much later than their slots the tasks of a schedule are due: spread over its jitter by its name. */
export function jitterOf({ name, jitterMs }: Pick<ScheduleDefinition, 'name' | 'jitterMs'>): number {
  return Math.floor((parseInt(sha256(name).slice(0, 8), 16) / 2 ** 32) * jitterMs);
}

/** The line in which the tasks of a schedule stand, as the key of a line. */
export function lineOfSchedule({ name }: Pick<ScheduleDefinition, 'name'>): string {
  return `schedule/${name}`;
}

/** Returns the slot's data for its task. A slot before the latest one that became a task has an empty interval. */
export function slotOf({ name, lastAt }: Pick<ScheduleRecord, 'name' | 'lastAt'>, at: number): SlotOfTask {
  return { name, at, since: lastAt === undefined ? undefined : Math.min(lastAt, at) };
}

/** The id of the task that a slot becomes: the schedule's name and the scheduled moment. */
export function slotTaskId({ name }: Pick<ScheduleDefinition, 'name'>, slot: number): string {
  return `${name}@${new Date(slot).toISOString()}`;
}
