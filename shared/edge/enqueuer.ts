/** Enqueues tasks one by one, and nothing else: the smallest bundle that hands work on. */
import { createEnqueueStore } from '../dynamo/task/enqueue-store.ts';
import type { Enqueued, EnqueueStore } from '../queue/task-writer.ts';
import { TaskWriter } from '../queue/task-writer.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { EnqueueOptions, InputAndOptions, TaskReference, WithoutInput } from '../task/request.ts';
import { inputAndOptions, newTaskOf } from '../task/request.ts';
import type { TaskRecord } from '../task/task.ts';
import { DEFAULT_QUEUE } from '../task/task.ts';
import { validName } from '../validate/name.ts';
import type { EdgeConnection } from './connection.ts';

/** @throws ConfigurationError */
export function enqueuer(connection: EdgeConnection): Enqueuer {
  return new Enqueuer(connection);
}

export class Enqueuer {
  readonly #store: EnqueueStore;
  readonly #writer: TaskWriter;
  readonly #runtime: Runtime;
  readonly #queue: string;

  constructor({ sender, table, shards, runtime, queue = DEFAULT_QUEUE }: EdgeConnection) {
    this.#store = createEnqueueStore(sender, { table, shards });
    this.#writer = new TaskWriter({ store: this.#store, runtime });
    this.#runtime = runtime;
    this.#queue = validName('queue', queue);
  }

  /**
   * Adds a task, unless its id is there already. A task without input is `enqueue(task)`, and gets null.
   * @throws MismatchError when the id is there with other input or another name
   * @throws ConfigurationError when an option or the input is not usable
   */
  async enqueue<Given>(task: TaskReference<Given>, input: NoInfer<Given>, options?: EnqueueOptions): Promise<Enqueued>;
  async enqueue<Given>(task: TaskReference<Given> & WithoutInput<Given>): Promise<Enqueued>;
  async enqueue(task: TaskReference<unknown>, ...given: InputAndOptions): Promise<Enqueued> {
    const { input, options } = inputAndOptions(given);
    const defaults = { runtime: this.#runtime, queue: this.#queue, hasPayloadStore: false };
    return this.#writer.put(await newTaskOf(task, input, options, defaults));
  }

  /** A task as its row has it, strongly consistent; undefined when there is none, or none any more. */
  get(id: string, queue = this.#queue): Promise<TaskRecord | undefined> {
    return this.#store.get({ queue, id });
  }
}
