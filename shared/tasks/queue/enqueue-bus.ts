/**
 * `EnqueueBus` announces tasks that were just enqueued in this process to the workers of the same process, without a request to the store.
 *
 * An announcement is a hint. All workers see the task in the index, and claim it like any other task.
 */
import type { Outcome } from '../../core/lease/outcome.ts';
import type { CommitOutcome, NewTask, TaskStore } from '../task/task-store.ts';

export type EnqueueListener = (ids: readonly string[]) => void;

/** The operations that create tasks. */
type Creates = Pick<TaskStore, 'enqueue' | 'commit' | 'waitForChildren'>;

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

  /** Returns the same store, which also announces the due tasks that it creates. */
  announcing<Store extends Creates>(store: Store, place: string): Store {
    const announce = (outcome: Outcome<unknown> | CommitOutcome, tasks: readonly NewTask[], now: number): void => {
      if (outcome.kind === 'applied')
        this.#announce(
          place,
          tasks.filter(({ runAt }) => runAt <= now),
        );
    };
    return {
      ...store,
      async enqueue(task, write) {
        const outcome = await store.enqueue(task, write);
        announce(outcome, [task], write.now);
        return outcome;
      },
      async commit(claim, result, effects, write, limits) {
        const outcome = await store.commit(claim, result, effects, write, limits);
        const spawned = effects.flatMap((effect) => ('spawn' in effect ? [effect.spawn] : []));
        announce(outcome, spawned, write.now);
        return outcome;
      },
      async waitForChildren(claim, batch, children, write, limits) {
        const outcome = await store.waitForChildren(claim, batch, children, write, limits);
        announce(outcome, children, write.now);
        return outcome;
      },
    };
  }

  #announce(place: string, tasks: readonly NewTask[]): void {
    if (this.#listeners.size === 0) return;
    for (const [queue, ofQueue] of Map.groupBy(tasks, (task) => task.queue)) {
      const ids = ofQueue.map(({ id }) => id);
      for (const listener of this.#listeners.get(nameOf(place, queue)) ?? []) listener(ids);
    }
  }
}

function nameOf(place: string, queue: string): string {
  return JSON.stringify([place, queue]);
}
