/** Enqueues tasks one by one, answers callbacks, and reads a task: the smallest bundle for a producer. */
import { Rows } from '../../dynamo/engine/rows.ts';
import { createAddingStore } from '../../tasks/rows/task/adding-store.ts';
import { decodeTaken, decodeTask } from '../../tasks/rows/task/task-codec.ts';
import { readTask } from '../../tasks/rows/task/task-statements.ts';
import { ConfigurationError } from '../../core/errors.ts';
import type { Enqueued } from '../../tasks/queue/task-adder.ts';
import { TaskAdder } from '../../tasks/queue/task-adder.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { EnqueueOptions, InputAndOptions, TaskReference, WithoutInput } from '../../tasks/task/task-request.ts';
import { inputAndOptions, plainTaskOf } from '../../tasks/task/task-request.ts';
import type { TaskRecord } from '../../tasks/task/task.ts';
import { DEFAULT_QUEUE } from '../../tasks/task/task.ts';
import { Callbacks } from '../../tasks/durable/callbacks.ts';
import { createArrivalStore } from '../../tasks/rows/task/arrival-store.ts';
import type { TaskStore } from '../../tasks/task/task-store.ts';
import type { OwnWrites } from '../../tasks/task/user-writes.ts';
import { ensureEnqueuedWith, ownWrites } from '../../tasks/task/user-writes.ts';
import { validName, validOptions } from '../../core/validate/options.ts';
import type { EdgeConnection } from './edge-connection.ts';
import { validConnection } from './edge-connection.ts';

/** Options that need the code of lines, or of tasks that get new input. */
const BEYOND = ['ordered', 'onDuplicate', 'window'] as const satisfies readonly (keyof EnqueueOptions)[];

export type AddOptions = Omit<EnqueueOptions, 'ordered' | 'onDuplicate' | 'window'>;

/** @throws ConfigurationError */
export function enqueuer(connection: EdgeConnection): Enqueuer {
  return new Enqueuer(connection);
}

export class Enqueuer {
  readonly #adder: TaskAdder;
  readonly #runtime: Runtime;
  readonly #queue: string;

  constructor(connection: EdgeConnection) {
    const { sender, table, shards, runtime, queue = DEFAULT_QUEUE } = validConnection(connection);
    this.#adder = new TaskAdder({ store: createAddingStore(sender, { table, shards }, decodeTaken), runtime });
    this.#runtime = runtime;
    this.#queue = validName('queue', queue);
  }

  /**
   * Adds a task, unless its id already exists. `enqueue(task)` adds a task without input, which receives null.
   * For lines (`ordered`) and new input for existing tasks (`onDuplicate`, `window`), use `createLeasehold`.
   * With `writes`, the task and the caller's own writes are applied together, or not at all.
   * @throws MismatchError if the id exists with other input or another name
   * @throws CommitRefusedError if a condition of one of the `writes` was false: nothing was applied, and no late copy will be
   * @throws ConfigurationError if an option or the input is not usable
   */
  async enqueue<Given>(
    task: TaskReference<Given>,
    input: NoInfer<Given>,
    options?: AddOptions & OwnWrites,
  ): Promise<Enqueued>;
  async enqueue<Given>(task: TaskReference<Given> & WithoutInput<Given>): Promise<Enqueued>;
  async enqueue(task: TaskReference<unknown>, ...given: InputAndOptions): Promise<Enqueued> {
    const { input, options: all } = inputAndOptions(given);
    const { writes, rest: options } = ownWrites(all);
    const defaults = { runtime: this.#runtime, queue: this.#queue, hasPayloadStore: false };
    for (const option of BEYOND)
      if (options[option] !== undefined)
        throw new ConfigurationError(`${option} is not supported by enqueuer: use createLeasehold(…).tasks`);
    const asked = await plainTaskOf(task, input, options, defaults);
    ensureEnqueuedWith(asked, writes);
    return this.#adder.put(asked, writes);
  }
}

/** Answers callbacks of durable tasks of the connection's queue. @throws ConfigurationError */
export function callbacks(connection: EdgeConnection): Callbacks {
  const { sender, table, shards, runtime, queue = DEFAULT_QUEUE } = validConnection(connection);
  const get: TaskStore['get'] = (key) => new Rows(sender, decodeTask).get(readTask(table, key.queue, key.id));
  const store = { get, ...createArrivalStore(sender, { table, shards }) };
  return new Callbacks({ store, runtime }, validName('queue', queue));
}

/**
 * Returns a task as stored, strongly consistent; undefined if it does not exist, or no longer.
 * @param where default: the connection's queue
 * @throws ConfigurationError
 * @throws CorruptItemError
 */
export async function getTask(
  connection: EdgeConnection,
  id: string,
  where: { readonly queue?: string } = {},
): Promise<TaskRecord | undefined> {
  const { sender, table, queue: ownQueue = DEFAULT_QUEUE } = validConnection(connection);
  const { queue = ownQueue } = validOptions('the options of getTask', where, ['queue']);
  return new Rows(sender, decodeTask).get(readTask(table, validName('queue', queue), validName('task id', id)));
}
