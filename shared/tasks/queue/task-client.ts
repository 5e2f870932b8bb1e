/** Client API of tasks: enqueue, read, wait, count. */
import { defined } from '../../core/defined.ts';
import { ConfigurationError, MismatchError, shown } from '../../core/errors.ts';
import { validName, validWholeNumber, validOptions } from '../../core/validate/options.ts';
import { stampOf } from '../../core/lease/write.ts';
import { allOf } from '../../core/runtime/all-of.ts';
import { inFlight } from '../../core/runtime/in-flight.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type {
  EnqueueOptions,
  InputAndOptions,
  RequestDefaults,
  TaskReference,
  TaskRequest,
  WithoutInput,
} from '../task/task-request.ts';
import { inputAndOptions, newTaskOf } from '../task/task-request.ts';
import type { BatchRecord } from '../task/batch.ts';
import type { DefinitionOf, ResultOf, ResultOptions, TaskOutcome } from './results.ts';
import { checkedAll, callbackTaken, ensureSameBatch, ensureSameCallback, newBatchOf } from './batch-request.ts';
import { RESULT_OPTIONS, RESULT_OPTIONS_BY_DEFINITION, TaskResults } from './results.ts';
import { isInsideTask } from '../task/task-scope.ts';
import { durationMs } from '../../core/validate/duration.ts';
import { validSignal } from '../../core/wait/wait.ts';
import type { BatchOptions } from './batch-request.ts';
import type { PayloadStore } from '../task/payload.ts';
import type { OwnWrites } from '../task/user-writes.ts';
import { ensureEnqueuedWith, ownWrites } from '../task/user-writes.ts';
import type { NewTask, TaskStore, UserWrite } from '../task/task-store.ts';
import type { TaskRecord } from '../task/task.ts';
import { DEFAULT_QUEUE } from '../task/task.ts';
import type { Enqueued } from './task-adder.ts';
import { TaskWriter } from './task-writer.ts';
import type { TaskSpans } from '../tracing/task-spans.ts';
import { sendWithin } from '../tracing/tracing.ts';

export type { EnqueueOptions, TaskReference } from '../task/task-request.ts';
export type { Enqueued } from './task-adder.ts';

export interface EnqueuedBatch {
  readonly id: string;
  readonly queue: string;
  readonly created: boolean;
}

/** About as many as keep one client process busy. */
const DEFAULT_ENQUEUES_IN_FLIGHT = 32;

/** Enqueues tasks, one or many, and reads them. It does not run tasks. */
export class TaskClient {
  readonly #store: TaskStore;
  readonly #runtime: Runtime;
  readonly #queue: string;
  readonly #spans: TaskSpans | undefined;
  readonly #writer: TaskWriter;
  readonly #hasPayloadStore: boolean;
  readonly #results: TaskResults;

  constructor(
    ports: { readonly store: TaskStore; readonly runtime: Runtime },
    options: {
      readonly queue?: string | undefined;
      readonly spans?: TaskSpans | undefined;
      /** Store of inputs that do not fit into the table. Default: they are refused. */
      readonly payloads?: PayloadStore | undefined;
    } = {},
  ) {
    this.#store = ports.store;
    this.#runtime = ports.runtime;
    this.#queue = validName('queue', options.queue ?? DEFAULT_QUEUE);
    this.#spans = options.spans;
    this.#writer = new TaskWriter(ports, options);
    this.#hasPayloadStore = options.payloads !== undefined;
    this.#results = new TaskResults(ports);
  }

  /**
   * Adds a task unless its id exists. `enqueue(task)` adds a task without input, which gets null.
   * The definition's schema checks the input as the worker will receive it, after the JSON round trip. Nothing is written if it does not
   * fit.
   * With `writes`, the task and the caller's own writes are applied together, or not at all.
   * @throws MismatchError when the id exists with other work: see `onDuplicate`
   * @throws CommitRefusedError when a condition of one of the `writes` was false: nothing was applied, and no late copy will be
   * @throws ConfigurationError when an option or the input is not usable
   */
  async enqueue<Given>(
    task: TaskReference<Given>,
    input: NoInfer<Given>,
    options?: EnqueueOptions & OwnWrites,
  ): Promise<Enqueued>;
  async enqueue<Given>(task: TaskReference<Given> & WithoutInput<Given>): Promise<Enqueued>;
  async enqueue(task: TaskReference<unknown>, ...given: InputAndOptions): Promise<Enqueued> {
    const { input, options } = inputAndOptions(given);
    const { writes, rest } = ownWrites(options);
    const asked = await newTaskOf(task, input, rest, this.#defaults());
    ensureEnqueuedWith(asked, writes);
    return this.#put(asked, writes);
  }

  /**
   * Adds many tasks with bounded concurrency. Each is a result of `spawn`, which takes the arguments of `enqueue`, or of `validate`.
   * All tasks are checked before the first is written.
   * Tasks of one line, or with one id, are added in the order given; tasks of a line share transactions.
   * A conflict with an existing task is reported for that task and does not stop the others.
   * @throws StoreUnavailableError when the store is unavailable: then nothing more is sent; calling again with the same ids adds what is
   * missing
   */
  async enqueueAll(
    tasks: readonly (TaskRequest | NewTask)[],
    options: { readonly inFlight?: number; readonly onProgress?: (done: number) => void } = {},
  ): Promise<readonly (Enqueued | MismatchError)[]> {
    validOptions('the options of enqueueAll', options, ['inFlight', 'onProgress']);
    const checked = await checkedAll(tasks, this.#defaults());
    const run = inFlight(validWholeNumber('inFlight', options.inFlight ?? DEFAULT_ENQUEUES_IN_FLIGHT, { min: 1 }));
    let done = 0;
    const put = async (task: NewTask): Promise<Enqueued | MismatchError> => {
      try {
        return await this.#put(task);
      } catch (error) {
        if (error instanceof MismatchError) return error;
        throw error;
      } finally {
        options.onProgress?.(++done);
      }
    };
    const results: (Enqueued | MismatchError)[] = [];
    await allOf(
      byTurn(checked).map((turn) =>
        run(async () => {
          if (turn[0]?.task.line !== undefined)
            await this.#putInLine(turn, async (task, at) => (results[at] = await put(task)));
          else for (const { at, task } of turn) results[at] = await put(task);
        }),
      ),
    );
    return results;
  }

  /** Large inputs are stored first, so that the tasks share transactions in their order. Tasks behind a failed one are not added. */
  async #putInLine(tasks: readonly Numbered[], put: (task: NewTask, at: number) => Promise<unknown>): Promise<void> {
    const list = {};
    const ready: NewTask[] = [];
    for (const { task } of tasks) ready.push({ ...(await this.#writer.checkedIn(task)), list });
    await allOf(ready.map((task, nth) => put(task, tasks[nth]?.at ?? nth)));
  }

  /**
   * Waits for the end of a task. The result is typed if you pass the definition along with the id;
   * with an id alone it is any JSON.
   * A dead task, a cancelled task and the deadline are outcomes, not errors.
   * @throws ConfigurationError when there is no such task; MismatchError when it is of another definition; the reason of `signal`
   */
  result<Output>(
    task: DefinitionOf<Output>,
    options: ResultOptions & { readonly id: string },
  ): Promise<TaskOutcome<ResultOf<Output>>>;
  result(id: string, options?: ResultOptions): Promise<TaskOutcome>;
  async result(
    task: DefinitionOf<unknown> | string,
    options: ResultOptions & { readonly id?: string } = {},
  ): Promise<TaskOutcome> {
    const isById = typeof task === 'string';
    if (isById) validOptions('the options of result', options as ResultOptions, RESULT_OPTIONS);
    else validOptions('the options of result', options, RESULT_OPTIONS_BY_DEFINITION);
    const { id, queue = this.#queue } = options;
    const key = { queue: validName('queue', queue), id: validName('the id of a task', isById ? task : id) };
    return this.#results.wait(key, options, isById ? undefined : task.name);
  }

  /**
   * Calls `enqueue` and then `result`.
   * @throws ConfigurationError inside a task, before anything is written: at full concurrency the call would wait for its own task's slot.
   *   Inside a task, use `waitFor`, which releases the task until its children have ended
   */
  enqueueAndWait<Given, Output>(
    task: TaskReference<Given> & DefinitionOf<Output>,
    input: NoInfer<Given>,
    options?: EnqueueOptions & ResultOptions,
  ): Promise<TaskOutcome<ResultOf<Output>>>;
  enqueueAndWait(task: string, input?: unknown, options?: EnqueueOptions & ResultOptions): Promise<TaskOutcome>;
  async enqueueAndWait(
    task: TaskReference<unknown>,
    input: unknown = null,
    given: EnqueueOptions & ResultOptions = {},
  ): Promise<TaskOutcome> {
    if (typeof given !== 'object' || (given as unknown) === null)
      throw new ConfigurationError(`the options of enqueueAndWait are ${shown(given)}: must be an object`);
    const { wait, signal, ...options } = given;
    if (isInsideTask())
      throw new ConfigurationError(
        'enqueueAndWait inside of a task would wait for a slot while it holds one: return await task.waitFor([…]), which gives it back',
      );
    if (wait !== undefined) durationMs('wait', wait);
    validSignal(signal);
    const { id, queue } = await this.enqueue(task, input, options);
    return this.#results.wait({ queue, id }, defined({ wait, signal }));
  }

  /** Checks everything that `enqueue` would, and writes nothing. @throws ConfigurationError */
  async validate<Given>(task: TaskReference<Given>, input: NoInfer<Given>, options?: EnqueueOptions): Promise<NewTask>;
  async validate<Given>(task: TaskReference<Given> & WithoutInput<Given>): Promise<NewTask>;
  async validate(task: TaskReference<unknown>, ...given: InputAndOptions): Promise<NewTask> {
    return this.#validated(task, given);
  }

  /**
   * Adds a batch of tasks, and a callback task that runs when all of them have ended.
   * The callback is created first and waits. Its `task.children` shows how the others ended.
   * The batch is created before its children, so calling again with the same id after a failure adds what is missing, and never counts
   * twice.
   * @throws MismatchError when the id belongs to another batch, one of its children's ids to other work, or the callback's id is taken
   */
  async enqueueBatch(children: readonly TaskRequest[], options: BatchOptions): Promise<EnqueuedBatch> {
    const { batch, callback, tasks } = await newBatchOf(children, options, this.#defaults());
    const { queue, id } = batch;
    const outcome = await this.#store.createBatch(batch, callback, stampOf(this.#runtime));
    if (outcome.kind === 'refused') {
      if (outcome.taken !== undefined) throw callbackTaken(batch, outcome.taken);
      ensureSameBatch(batch, outcome.current);
      if (callback !== undefined) ensureSameCallback(callback, await this.#store.get(callback));
    }
    const results = await this.enqueueAll(tasks);
    const mismatch = results.find((result) => result instanceof MismatchError);
    if (mismatch !== undefined) throw mismatch;
    return { id, queue, created: outcome.kind === 'applied' };
  }

  /** Returns the progress of a batch; undefined if it does not exist (any more). */
  async getBatch(id: string, queue = this.#queue): Promise<BatchRecord | undefined> {
    return this.#store.getBatch({ queue, id });
  }

  async get(id: string, queue = this.#queue): Promise<TaskRecord | undefined> {
    return this.#store.get({ queue: validName('queue', queue), id: validName('task id', id) });
  }

  #validated(task: TaskReference<unknown>, given: InputAndOptions): Promise<NewTask> {
    const { input, options } = inputAndOptions(given);
    return newTaskOf(task, input, options, this.#defaults());
  }

  #defaults(): RequestDefaults {
    return {
      runtime: this.#runtime,
      queue: this.#queue,
      hasPayloadStore: this.#hasPayloadStore,
    };
  }

  /** Writes within a span if tracing is on. The span's context is stored in the row, and later spans of the task are its children. */
  #put(asked: NewTask, writes?: readonly UserWrite[]): Promise<Enqueued> {
    const { clock } = this.#runtime;
    const span = this.#spans?.send(asked, clock.now());
    const { traceparent } = span ?? {};
    const task = traceparent === undefined ? asked : { ...asked, traceparent };
    return sendWithin(span, clock, () => this.#writer.put(task, writes));
  }
}

interface Numbered {
  readonly task: NewTask;
  readonly at: number;
}

/** The tasks that must be added in order: tasks of one line, or with one id. */
function byTurn(tasks: readonly NewTask[]): readonly (readonly Numbered[])[] {
  const turns = new Map<string, Numbered[]>();
  for (const [at, task] of tasks.entries()) {
    const { queue, line, id } = task;
    const turn = JSON.stringify(line === undefined ? [queue, 'id', id] : [queue, line]);
    const others = turns.get(turn);
    if (others === undefined) turns.set(turn, [{ task, at }]);
    else others.push({ task, at });
  }
  return [...turns.values()];
}
