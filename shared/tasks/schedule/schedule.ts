/**
 * A schedule: a task that recurs by a cron expression, in the local time of a zone.
 *
 * Guarantees
 *   - Each slot becomes at most one task, and a slot that the policies keep is never lost: the transaction that makes the task also
 *     advances
 *     the schedule. Several dispatchers may process the same due slot, and crash at any point.
 *   - With every overlap policy but `allow`, no two tasks of a schedule run at once: they are in their own line (`task/line.ts`),
 *     in which a task that is retried, snoozed or waits for its children blocks the others. This includes tasks of `run`, and dead
 *     tasks.
 *   - The intervals [since, at) of a schedule's tasks follow each other without a gap and do not overlap.
 *
 * Does not guarantee
 *   - Punctuality. A slot becomes a task with the first tick of a dispatcher after it.
 *   - Slots older than `HORIZON_MS`, which are left out even with `missed: 'all'`.
 *
 * Clock: a slot is due by the dispatcher's wall clock; a wrong clock changes when its task is made, never how often.
 */
import { sha256 } from '../../core/runtime/sha256.ts';
import type { CronTimes } from './cron.ts';
import { lastSlotWithin, slotAfter, slotsWithoutMoment } from './cron.ts';
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
 * `replace`  the earlier task is requested to stop, as by cancel, and the slot's task starts when it has ended.
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
  /** How late a slot may be and still count as on time. Only used by `skip`. */
  readonly toleranceMs: number;
  /** Earliest time of its first slot. */
  readonly startAt: number | undefined;
  /** Its last slot is before this time. */
  readonly endAt: number | undefined;
  /** Its tasks are due later than their slots by a fixed part of this duration. */
  readonly jitterMs: number;
}

export interface ScheduleRecord extends ScheduleDefinition {
  /** When it was defined or its definition last changed. It has no slots before this time. */
  readonly definedAt: number;
  /** The first slot that has neither become a task nor been left out; Infinity: no slot remains, or the schedule is paused. */
  readonly nextAt: number;
  /** The latest slot that became a task. */
  readonly lastAt: number | undefined;
  /** When it was paused. Absent: it is active. */
  readonly pausedAt: number | undefined;
  /** Slots that were left out, and why: the last few. */
  readonly leftOut: readonly LeftOutSlot[];
  readonly nonce: string;
}

export interface LeftOutSlot {
  readonly at: number;
  /**
   * A task of the schedule had not ended, no dispatcher had run for longer than the tolerance, or the zone does not have that time on the day
   * on which its clock goes forward.
   */
  readonly why: (typeof LEFT_OUT_FOR)[number];
}

export const LEFT_OUT_FOR = ['overlap', 'late', 'zone'] as const;

/** Half of the retention period of finished tasks, so a younger slot still finds the task that it became. */
export const HORIZON_MS = 7 * 86_400_000;
/** Maximum number of slots of one schedule per tick; the next tick continues. */
const SLOTS_PER_TICK = 100;
/** Maximum number of due schedules of a queue per tick; the next tick continues. */
export const SCHEDULES_PER_TICK = 1_000;
/** Maximum JSON size of the options of a schedule's tasks. Each tick parses the options of every due schedule. */
export const SCHEDULE_OPTIONS_LIMIT_CHARACTERS = 4_096;
/** Left-out slots that a schedule's row keeps. */
export const LEFT_OUT_KEPT = 8;

interface DueSlots {
  /** Slots to turn into tasks now, oldest first. */
  readonly slots: readonly number[];
  /** A slot that is too late to become a task. */
  readonly late?: number;
  /** The schedule's next slot; undefined if no slot remains. */
  readonly nextAt: number | undefined;
}

/** Returns the first slot after a time; undefined if no slot follows. */
export function nextSlot(schedule: ScheduleDefinition, after: number): number | undefined {
  const { startAt = 0, endAt = Infinity } = schedule;
  const slot = slotAfter(schedule, Math.max(after, startAt - 1));
  return slot === undefined || slot >= endAt ? undefined : slot;
}

/** Returns the last slot of a span, both ends included; undefined if the span has no slot. */
export function lastSlot(
  schedule: ScheduleDefinition,
  span: { readonly from: number; readonly until: number },
): number | undefined {
  return lastSlotWithin((after) => nextSlot(schedule, after), span);
}

/** Returns the slots of a schedule that are due at `now`. Pure. */
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

/** Returns what the zone leaves out between the latest slot of a schedule that became a task, or was left out, and another one. Pure. */
export function leftOutByZone(schedule: ScheduleRecord, before: number): readonly number[] {
  const { definedAt, lastAt = definedAt, leftOut, startAt = 0 } = schedule;
  const after = Math.max(lastAt, definedAt, startAt - 1, ...leftOut.map(({ at }) => at));
  return after < before ? slotsWithoutMoment(schedule, { after, before }) : [];
}

/** Returns how much later than their slots a schedule's tasks are due. Derived from its name, within its jitter. */
export function jitterOf({ name, jitterMs }: Pick<ScheduleDefinition, 'name' | 'jitterMs'>): number {
  return Math.floor((parseInt(sha256(name).slice(0, 8), 16) / 2 ** 32) * jitterMs);
}

/** Returns the key of the line that a schedule's tasks join. */
export function lineOfSchedule({ name }: Pick<ScheduleDefinition, 'name'>): string {
  return `schedule/${name}`;
}

/** Returns the slot's data for its task. A slot before the latest one that became a task has an empty interval. */
export function slotOf({ name, lastAt }: Pick<ScheduleRecord, 'name' | 'lastAt'>, at: number): SlotOfTask {
  return { name, at, since: lastAt === undefined ? undefined : Math.min(lastAt, at) };
}

/** Returns the id of a slot's task: the schedule's name and the scheduled time. */
export function slotTaskId({ name }: Pick<ScheduleDefinition, 'name'>, slot: number): string {
  return `${name}@${new Date(slot).toISOString()}`;
}
