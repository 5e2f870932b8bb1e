/**
 * Adds one task to the table unless its id is taken. Every client that enqueues is built on this, and a small client needs nothing else.
 */
import { MismatchError, StoreUnavailableError, assert } from '../../core/errors.ts';
import type { Outcome, Stamp } from '../../core/lease/write.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { fateOfPut } from '../task/created-by.ts';
import type { TakenTask } from '../task/dedup.ts';
import { differenceOf, isSameWork } from '../task/dedup.ts';
import { CommitRefusedError } from '../task/control.ts';
import type { PayloadStore } from '../task/payload.ts';
import { checkedIn, discardPayload } from '../task/payload.ts';
import type { CanceledEffects, NewTask, PayloadPlace, TaskStore, UserWrite } from '../task/task-store.ts';
import type { TaskKey } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import { refusalOf } from '../task/user-writes.ts';

export interface Enqueued {
  /** As given, or generated. */
  readonly id: string;
  readonly queue: string;
  /** Whether this call added new work: a new task, the first follower of a running task, or a restart of an ended task. */
  readonly created: boolean;
  /** The existing task was waiting and got the new input and time, or the follower of a running task was replaced. */
  readonly replaced: boolean;
  /** The task runs: this work begins when its attempt has ended. */
  readonly follows: boolean;
}

/** The part of the store that is needed to add a task. `Taken`: an existing task as read, in full or only the compared attributes. */
export interface AddingStore<Taken extends TakenTask = TakenTask> extends Pick<
  TaskStore,
  'putPayload' | 'deletePayload'
> {
  /** Put-if-absent: refused if the id is taken; the outcome has the existing task. */
  enqueue(task: NewTask, write: Stamp): Promise<Outcome<Begun<Taken>, Taken>>;
  /** The same in one transaction with writes of its caller. Canceled: one was refused, and no copy of the call is applied later. */
  enqueueWith(
    task: NewTask,
    writes: readonly UserWrite[],
    write: Stamp,
  ): Promise<Outcome<Begun<Taken>, Taken> | CanceledEffects>;
  /** Strongly consistent. */
  get(key: TaskKey): Promise<Taken | undefined>;
}

/** The row as enqueued. */
export type Begun<Task> = Task & { readonly state: 'ready' };

export class TaskAdder<Taken extends TakenTask = TakenTask> {
  readonly #store: AddingStore<Taken>;
  readonly #runtime: Runtime;
  readonly #payloads: PayloadStore | undefined;

  constructor(
    { store, runtime }: { readonly store: AddingStore<Taken>; readonly runtime: Runtime },
    { payloads }: { readonly payloads?: PayloadStore | undefined } = {},
  ) {
    this.#store = store;
    this.#runtime = runtime;
    this.#payloads = payloads;
  }

  /** Adds a task after its payload. A payload that turns out to be unnecessary is removed again. Takes and throws what `add` does. */
  async put(asked: NewTask, writes?: readonly UserWrite[]): Promise<Enqueued> {
    const task = await this.checkedIn(asked);
    try {
      const enqueued = await this.add(task, writes);
      if (!enqueued.created && !enqueued.replaced) await this.discard(task);
      return enqueued;
    } catch (error) {
      if (error instanceof MismatchError || error instanceof CommitRefusedError) await this.discard(task);
      throw error;
    }
  }

  /** Returns the task with its payload written. */
  checkedIn(task: NewTask): Promise<NewTask> {
    return checkedIn(task, { tasks: this.#store, payloads: this.#payloads }, this.#runtime.ids.unique());
  }

  /** Removes a payload that no task names, or will name. */
  protected discard(task: TaskKey & { readonly payload?: PayloadPlace | undefined }): Promise<void> {
    return discardPayload(task, { tasks: this.#store, payloads: this.#payloads });
  }

  /**
   * @param task its payload is written
   * @param writes of the caller, in the same transaction
   * @throws CommitRefusedError when a condition of one of the writes was false
   * @throws MismatchError when the id exists with other work
   * @throws StoreUnavailableError when the response was lost, and other work has begun under the id since
   */
  protected async add(task: NewTask, writes: readonly UserWrite[] = []): Promise<Enqueued> {
    const { id, queue } = task;
    const stamp = stampOf(this.#runtime);
    const outcome = await (writes.length === 0
      ? this.#store.enqueue(task, stamp)
      : this.#store.enqueueWith(task, writes, stamp));
    if (outcome.kind === 'canceled') throw refusalOf(`the enqueue of ${describeTask(task)}`, outcome.reasons);
    const created = { id, queue, created: true, replaced: false, follows: false };
    if (outcome.kind === 'applied') return created;
    const taken = outcome.current ?? (await this.#store.get(task));
    assert(taken !== undefined, `${describeTask(task)} was refused by a row that is not there`);
    if (outcome.earlierAttempt === 'unknown') {
      const fate = fateOfPut(taken, stamp, task.hasGeneratedId !== true);
      if (fate === 'applied') return created;
      if (fate === 'unknown') throw undecided(task, taken);
    }
    return this.settle(task, taken);
  }

  /** Handles a taken id by the policy `reject` of `dedup.ts`: the existing task may be the same work or other work. */
  protected async settle(task: NewTask, taken: Taken): Promise<Enqueued> {
    if (!isSameWork(taken, task)) throw mismatch(task, taken);
    return kept(task);
  }
}

/** The requested task exists, or the policy keeps the existing one. */
export function kept({ id, queue }: TaskKey): Enqueued {
  return { id, queue, created: false, replaced: false, follows: false };
}

/** The response was lost, and nothing in the row says any more whether the request was applied. A second start would be a guess. */
export function undecided(task: TaskKey, current: TakenTask | undefined): StoreUnavailableError {
  const found = current === undefined ? 'is gone' : `has changed since, and is ${current.state} now`;
  return new StoreUnavailableError(
    `${describeTask(task)}: unknown whether this request was applied, because its response was lost and the task ${found}; ` +
      'read the task to see its input and its result, and repeat the call only if the work may be done once more',
    { applied: 'unknown' },
  );
}

export function mismatch(task: NewTask, current: TakenTask): MismatchError {
  return new MismatchError(
    describeTask(task),
    `${describeTask(task)} exists already (${current.state}) with ${differenceOf(current, task) ?? 'other input'}: use another id`,
  );
}
