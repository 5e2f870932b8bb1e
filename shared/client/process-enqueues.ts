/** Announces tasks that are enqueued in this process to its workers. */
import { EnqueueBus } from '../tasks/queue/enqueue-bus.ts';
import type { TaskStore } from '../tasks/task/task-store.ts';
import type { WorkerPorts } from '../tasks/worker/worker.ts';

export interface TablePlace {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly table: string;
}

const bus = new EnqueueBus();

/** Makes a store of this table announce the tasks that it creates. */
export function announcingIn(place: TablePlace): <Store extends TaskStore>(store: Store) => Store {
  return (store) => bus.announcing(store, nameOf(place));
}

/** Subscribes to the tasks that are enqueued in this process, and to announcements of `others`. */
export function enqueuedIn(
  place: TablePlace,
  queue: string,
  others: WorkerPorts['onEnqueued'],
): NonNullable<WorkerPorts['onEnqueued']> {
  return (listener) => {
    const stops = [bus.listen(nameOf(place), queue, listener), others?.(listener)];
    return () => {
      for (const stop of stops) stop?.();
    };
  };
}

/** Two tables with the same name in two accounts count as one, because an announcement is only a hint. */
function nameOf({ endpoint, region, table }: TablePlace): string {
  return JSON.stringify([endpoint ?? region, table]);
}
