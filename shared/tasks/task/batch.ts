/**
 * A batch: tasks that are waited for together.
 *
 *     children end one by one, each counted down in the very transaction that ends it
 *       pending 3 ──▶ 2 ──▶ 1 ──▶ 0, and in the same transaction the waiter becomes due: the callback, or the parent
 *
 * Guarantees
 *   - The callback is created with its batch, so a taken id refuses the batch.
 *     It becomes due exactly once, and never early: the count is written before any child exists,
 *     a child's end is counted in the transaction that ends it, and a child ends only once, whatever its number of attempts.
 *   - Every end counts: done, dead, or cancelled. The counts distinguish them; a dead child that an operator retries is not counted again.
 *
 * Does not guarantee
 *   - That a cancelled or replaced waiter still runs: then the last child ends and wakes nothing.
 *     If an operator retries a cancelled waiter, it waits again, or is due at once if all children have ended.
 *
 * All children of a batch write the same row when they end, so a batch completes a few dozen children per second.
 * For larger fan-ins, use batches of batches.
 */
import { MAX_EPOCH_MS } from '../../core/validate/moment.ts';
import type { Claim, TaskKey } from './task.ts';

export interface BatchKey {
  readonly queue: string;
  readonly id: string;
}

/** Returns the id of the batch of children that a claim waits for. */
export function childrenBatch({ id, leaseCounter }: Pick<Claim, 'id' | 'leaseCounter'>): string {
  return `${id}/${leaseCounter}`;
}

/**
 * Returns the id of the task that waits for a batch: its parent, or its callback by the default id.
 * The batch's id is the only source, so a callback with another id is found by polls.
 */
export function waiterIdOf(batch: string): string {
  const [, parent] = /^(.+)\/\d+$/s.exec(batch) ?? [];
  return parent ?? `${batch}/then`;
}

export interface BatchCounts {
  readonly total: number;
  /** Children that have not ended. */
  readonly pending: number;
  readonly done: number;
  readonly dead: number;
  readonly cancelled: number;
}

export interface BatchRecord extends BatchKey, BatchCounts {
  /** The task that waits for the batch, if any: a callback or a parent. */
  readonly waiter: Waiter;
  /** Digest of the ids of its children. Only for a batch with an id of the user's choice, which may be requested again. */
  readonly childrenDigest?: string;
  /** When it last counted an end. Absent: never. */
  readonly countedAt?: number;
  readonly nonce: string;
}

/** The request that creates a batch. */
export type NewBatch = Pick<BatchRecord, 'queue' | 'id' | 'total' | 'waiter' | 'childrenDigest'>;

export type Waiter =
  | { readonly kind: 'task'; readonly task: TaskKey & { readonly tenant?: string | undefined } }
  | { readonly kind: 'nobody' };

export function waiterOf({ queue, id, tenant }: TaskKey & { readonly tenant?: string | undefined }): Waiter {
  return { kind: 'task', task: tenant === undefined ? { queue, id } : { queue, id, tenant } };
}

/** Whether its counts add up. Our writes change two of them together, so otherwise another program has written them. */
export function isMiscounted({ total, pending, done, dead, cancelled }: BatchCounts): boolean {
  return pending !== total - done - dead - cancelled;
}

/** Its fault, for a log and for doctor. */
export function describeMiscount({ queue, id, ...counts }: BatchKey & BatchCounts): string {
  const { total, pending, done, dead, cancelled } = counts;
  return (
    `batch ${id} of queue ${queue} counts ${pending} pending of ${total} children, of which ${done} are done, ` +
    `${dead} dead and ${cancelled} cancelled: another program has written its row`
  );
}

/** Text that follows the name of the waiting task. */
export function waitsFor({ total, pending }: BatchCounts): string {
  return `waits for ${total} children, of which ${pending} ${pending === 1 ? 'has' : 'have'} not ended`;
}

/** How a child ends, as counted by its batch. */
export type ChildEnding = 'done' | 'dead' | 'cancelled';

/** Due time of a task that waits for children; the last of them makes it due at once. */
export const NEVER = MAX_EPOCH_MS;
/**
 * One transaction contains the parent, the batch and its children: 99 actions. The hundredth frees the parent's slot of its key.
 */
export const CHILDREN_LIMIT = 97;
