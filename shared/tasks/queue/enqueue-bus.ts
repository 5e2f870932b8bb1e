/**
 * `EnqueueBus` tells the workers of one process which tasks were just enqueued in it: no write and no request more.
 *
 * An announced task is a hint. It is in the index for everyone, and its worker claims it like any other.
 */
import type { Outcome } from '../../core/lease/outcome.ts';
import type { CommitOutcome, NewTask, TaskStore } from '../task/task-store.ts';

export type EnqueueListener = (ids: readonly string[]) => void;

/** The verbs that create tasks. */
type Creates = Pick<TaskStore, 'enqueue' | 'commit' | 'waitForChildren'>;

export class EnqueueBus {
  readonly #listeners = new Map<string, Set<EnqueueListener>>();

  /** @param place which table @returns how to stop listening */
  listen(place: string, queue: string, listener: EnqueueListener): () => void {
    const name = nameOf(place, queue);
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(name);
    };
  }

  /** The same store, which announces the tasks that it creates and that are due. */
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
