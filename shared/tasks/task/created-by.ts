/**
 * The origin of a task's work: after a lost response, a caller recognises its own request by it.
 *
 * The nonce of a row is overwritten by the next write. `createdBy` stays until other work begins: it is the beginning of the nonce of
 * the put, of the renewal, or of the follower that became the task's work. The operators' writes, claims, and `replace` leave it.
 *
 * A verdict is final: the guard of each of these writes names a state that never comes back, so a late copy of a request that was
 * not applied is refused.
 */
import type { Stamp } from '../../core/lease/write.ts';
import type { TakenTask } from './dedup.ts';
import type { EndedTask, ReadyTask, RunningTask, TaskRecord } from './task.ts';

/** 12 digits of a UUID and a hyphen. Enough to distinguish the callers of one id, and each byte counts near a unit's end. */
const DIGITS = 13;

export function createdByOf(nonce: string): string {
  return nonce.slice(0, DIGITS);
}

/** The outcome of a request that was refused after an attempt without a response. */
type Fate = 'applied' | 'not applied' | 'unknown';

/** Pure. For a put. */
export function fateOfPut(current: TakenTask, { now, nonce }: Stamp, isNamed: boolean): Fate {
  if (current.createdBy === (isNamed ? createdByOf(nonce) : undefined)) return 'applied';
  // Our row would have begun its counter at `now`, and would have got other work only as a later generation.
  return current.generation === 0 || current.leaseCounter < now ? 'not applied' : 'unknown';
}

/** Pure. For other work after an ended task. */
export function fateOfRenewal(observed: EndedTask, current: TaskRecord | undefined, { nonce }: Stamp): Fate {
  if (current === undefined) return 'unknown';
  if (current.createdBy === createdByOf(nonce)) return 'applied';
  // Ours would be the generation after the observed one, and another's the one after that.
  return current.generation <= observed.generation + 1 ? 'not applied' : 'unknown';
}

/** Pure. Of work that follows a task, if it is not the follower now. */
export function fateOfFollower(
  observed: RunningTask | ReadyTask,
  current: TaskRecord | undefined,
  { nonce }: Stamp,
): Fate {
  if (current === undefined) return 'unknown';
  if (current.createdBy === createdByOf(nonce)) return 'applied';
  // Ours would have become the next generation, unless another's took its place.
  const isSameWork = current.generation === observed.generation;
  return isSameWork && current.follower?.nonce === observed.follower?.nonce ? 'not applied' : 'unknown';
}
