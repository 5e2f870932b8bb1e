/** Moves of items out of their pack, and the initial content of their own rows. */
import type { Settlement } from '../run/settle.ts';
import type { NewTask } from '../task/task-store.ts';
import type { PastAttempt, RunningTask, TaskError } from '../task/task.ts';
import type { PackOf } from '../task/pack.ts';
import { itemTask } from '../task/pack.ts';
import type { MovedItem } from './pack-store.ts';

/** Describes a failed item: dead without `readyAt`, retried at `readyAt` otherwise. */
export function failedItem(
  pack: PackOf<RunningTask>,
  index: number,
  error: TaskError,
  { now, readyAt }: { readonly now: number; readonly readyAt?: number },
): MovedItem {
  const task = taskOfItem(pack, index, readyAt ?? now);
  const lastAttempt = attemptOf(pack, 'failed', now);
  const { attempts } = pack;
  return { index, task, isDead: readyAt === undefined, attempts, deaths: 0, error, lastAttempt, isSuspect: false };
}

/** This attempt is not counted. */
export function snoozedItem(pack: PackOf<RunningTask>, index: number, readyAt: number, now: number): MovedItem {
  const task = taskOfItem(pack, index, readyAt);
  const lastAttempt = attemptOf(pack, 'snoozed', now);
  const attempts = pack.attempts - 1;
  return { index, task, isDead: false, attempts, deaths: 0, error: undefined, lastAttempt, isSuspect: false };
}

/** This attempt is not counted either: its worker had to stop, or the store was unavailable. */
export function releasedItem(
  pack: PackOf<RunningTask>,
  index: number,
  { error, readyAt }: { readonly error: TaskError | undefined; readonly readyAt: number },
  now: number,
): MovedItem {
  return { ...snoozedItem(pack, index, readyAt, now), error, lastAttempt: attemptOf(pack, 'released', now) };
}

/** Returns an item as a separate task. */
export function taskOfItem(pack: PackOf<RunningTask>, index: number, runAt: number): NewTask {
  const { queue, id, name, input, priority, traceparent } = itemTask(pack, index);
  return { queue, id, name, input, priority, traceparent, runAt };
}

/** Returns the settlement of the item's claim in the pack. */
export function settlementOf({ isDead, lastAttempt }: MovedItem): Settlement {
  if (isDead) return 'dead';
  const { how } = lastAttempt;
  return how === 'snoozed' || how === 'released' ? how : 'retried';
}

function attemptOf(
  { leaseCounter, session, claimedAt }: RunningTask,
  how: PastAttempt['how'],
  endedAt: number,
): PastAttempt {
  return { leaseCounter, session, claimedAt, endedAt, how, error: undefined };
}
