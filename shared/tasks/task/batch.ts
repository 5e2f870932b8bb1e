/**
 * A batch: tasks that are waited for together.
 *
 *     children end one by one, each counted down in the very transaction that ends it
 *       pending 3 ──▶ 2 ──▶ 1 ──▶ 0, and in the same transaction the callback is created, or the parent woken
 *
 * Guarantees
 *   - The callback is created exactly once, and never early:
 *     the count is written before any child is there, a child's end is counted in the
 *     transaction that ends it, and a child ends once however often it is tried.
 *   - Every end counts: done, dead, or cancelled. The counts say which; a dead child that is redriven later counts no second time.
 *
 * Does not guarantee
 *   - That a parent or a callback that was cancelled meanwhile comes back: then the last child ends all the same, and wakes nothing.
 *
 * All children of a batch write one row when they end: some dozens a second pass through it. Larger fan-ins are batches of batches.
 */
import { MAX_EPOCH_MS } from '../../core/validate/moment.ts';
import type { Claim, Json, Priority, TaskKey } from './task.ts';

export interface BatchKey {
  readonly queue: string;
  readonly id: string;
}

/** The id of the batch of those that a claim waits for. */
export function childrenBatch({ id, leaseCounter }: Pick<Claim, 'id' | 'leaseCounter'>): string {
  return `${id}/${leaseCounter}`;
}

/** The id of the task that waits for a batch of this id, if any does: other batches may have such an id. */
export function parentOf(batch: string): string {
  return batch.slice(0, Math.max(0, batch.lastIndexOf('/')));
}

/** The task that is created when the last child has ended; due at that moment. */
export interface Callback extends TaskKey {
  readonly name: string;
  readonly input: Json;
  readonly priority: Priority;
  readonly tenant?: string | undefined;
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
  /** Who waits for its end: a task that does not exist yet, one that does, or none. */
  readonly waiter: Waiter;
  readonly nonce: string;
}

export type Waiter =
  | { readonly kind: 'callback'; readonly task: Callback }
  | { readonly kind: 'parent'; readonly task: TaskKey & { readonly tenant?: string | undefined } }
  | { readonly kind: 'nobody' };

/** How a child ends, as the counts know it. */
export type ChildEnding = 'done' | 'dead' | 'cancelled';

/** A parent that waits for its children is due then, so to speak; the last of them makes it due at once. */
export const NEVER = MAX_EPOCH_MS;
/**
 * One transaction holds the parent, the batch, and its children: that is 99 actions. The hundredth gives back the parent's place of a key.
 */
export const CHILDREN_LIMIT = 97;
