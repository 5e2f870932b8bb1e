/** Announces tasks that are enqueued in this process to its workers. */
import { EnqueueBus } from '../tasks/queue/enqueue-bus.ts';
import type { TaskStoreOptions } from '../tasks/rows/task/adding-store.ts';
import type { WorkerPorts } from '../tasks/worker/run-worker.ts';

export interface TablePlace {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly table: string;
}

const bus = new EnqueueBus();

/** Returns a listener for the stores of this table: it announces the tasks that they create. */
export function announcingIn(place: TablePlace): NonNullable<TaskStoreOptions['onCreated']> {
  const name = nameOf(place);
  return (created, now) => bus.announce(name, created, now);
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
