/**
 * `ListedQueues` remembers which queues list their finished tasks, as this process last read it in their rows.
 *
 * A worker reads its queue's row before it claims, so whoever ends a task there knows, without a request of its own.
 * A worker that began a task before the list was switched on may end it without an entry: the list is complete for tasks that began later.
 */
import type { QueueRecord } from './queue-store.ts';

/** After this time an operator, who reads no row before its write, reads it again. */
const KNOWN_MS = 60_000;

export class ListedQueues {
  readonly #seen = new Map<string, { readonly isListed: boolean; readonly atMonotonicMs: number }>();

  note(queue: string, record: Pick<QueueRecord, 'listedSince'> | undefined, atMonotonicMs: number): void {
    this.#seen.set(queue, { isListed: record?.listedSince !== undefined, atMonotonicMs });
  }

  has(queue: string): boolean {
    return this.#seen.get(queue)?.isListed === true;
  }

  isKnown(queue: string, monotonicMs: number): boolean {
    const seen = this.#seen.get(queue);
    return seen !== undefined && monotonicMs < seen.atMonotonicMs + KNOWN_MS;
  }
}
