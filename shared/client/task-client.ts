/** `leasehold.tasks`: the client of tasks, which also answers callbacks. */
import type { Runtime } from '../core/runtime/runtime.ts';
import { Callbacks } from '../tasks/durable/callbacks.ts';
import type { AnsweringStore } from '../tasks/durable/journal-store.ts';
import { TaskClient as Tasks } from '../tasks/queue/task-client.ts';
import { DEFAULT_QUEUE } from '../tasks/task/task.ts';

export class TaskClient extends Tasks {
  /** Answers of callbacks, for durable tasks that wait for them. */
  readonly callbacks: Callbacks;

  constructor(
    ports: { readonly store: AnsweringStore; readonly runtime: Runtime },
    options: ConstructorParameters<typeof Tasks>[1],
  ) {
    super(ports, options);
    this.callbacks = new Callbacks(ports, options?.queue ?? DEFAULT_QUEUE);
  }
}
