/**
 * `replace` and `debounce`: of several requests at once, the newest wins, and the others need no write.
 *
 * A request that was refused is ordered just before the replacement that refused it: its own work would be overwritten already.
 * That is true only if the other replacement came during this call, and if no attempt could have begun with our work in between.
 */
import { isSame } from '../../core/runtime/same.ts';
import type { NewTask } from './task-store.ts';
import type { ReadyTask, RunningTask, TaskRecord } from './task.ts';

/**
 * Pure. Whether other work has replaced the work of a waiting task since it was seen. A claim would have raised the counter.
 * If the work is now the same as ours, it does not matter who has written it, unless it may expire.
 */
export function isOverridden(seen: ReadyTask, found: TaskRecord | undefined, task: NewTask): boolean {
  if (found?.state !== 'ready' || found.leaseCounter !== seen.leaseCounter || found.generation !== seen.generation)
    return false;
  // Operators change the time of a task and its priority, and only a replacement changes its work.
  return !isSame(workOf(found), workOf(seen)) || (task.expiresAt === undefined && isSame(workOf(found), workOf(task)));
}

/** Pure. Whether another request has become the follower of the same attempt since this one saw an earlier follower. */
export function isFollowedAnew(seen: RunningTask | ReadyTask, found: TaskRecord | undefined): boolean {
  return (
    seen.follower !== undefined &&
    found?.state === seen.state &&
    found.leaseCounter === seen.leaseCounter &&
    found.follower !== undefined &&
    found.follower.nonce !== seen.follower.nonce
  );
}

function workOf({ name, input, payload, links, policy, expiresAt }: ReadyTask | NewTask): unknown {
  return [name, input, payload?.digest ?? null, links?.concurrency ?? null, policy ?? null, expiresAt ?? null];
}
