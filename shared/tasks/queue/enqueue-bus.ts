/**
 * `EnqueueBus` announces tasks that were just enqueued in this process to the workers of the same process, without a request to the store.
 *
 * An announcement is a hint. All workers see the task in the index, and claim it like any other task.
 */
import type { NewTask } from '../task/task-store.ts';

export type EnqueueListener = (ids: readonly string[]) => void;

export class EnqueueBus {
  readonly #listeners = new Map<string, Set<EnqueueListener>>();

  /** @param place identifies the table @returns a function that unsubscribes */
  listen(place: string, queue: string, listener: EnqueueListener): () => void {
    const name = nameOf(place, queue);
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(name);
    };
  }

  /** Announces the due ones of the created tasks. */
  announce(place: string, created: readonly NewTask[], now: number): void {
    if (this.#listeners.size === 0) return;
    const due = created.filter(({ runAt }) => runAt <= now);
    for (const [queue, ofQueue] of Map.groupBy(due, (task) => task.queue)) {
      const ids = ofQueue.map(({ id }) => id);
      for (const listener of this.#listeners.get(nameOf(place, queue)) ?? []) listener(ids);
    }
  }
}

function nameOf(place: string, queue: string): string {
  return JSON.stringify([place, queue]);
}
