/** One task into the table, unless its id is taken: what every client that enqueues does, and all that a small one does. */
import { MismatchError, assert } from '../../core/errors.ts';
import type { Outcome } from '../../core/lease/outcome.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { TakenTask } from '../task/dedup.ts';
import { isSameWork } from '../task/dedup.ts';
import type { NewTask } from '../task/task-store.ts';
import type { TaskKey } from '../task/task.ts';
import { describeTask } from '../task/task.ts';

export interface Enqueued {
  /** As given, or made. */
  readonly id: string;
  readonly queue: string;
  /** False if a task with this id existed, unless it is running or has ended and this work follows it. */
  readonly created: boolean;
  /** The existing task was waiting and got the new input and time; or the follower of a running task was replaced. */
  readonly replaced: boolean;
  /** The task runs: this work begins when its attempt has ended. */
  readonly follows: boolean;
}

/** The part of the store that adding a task needs. `Taken`: what it reads of an existing task, all of it or the compared attributes. */
export interface AddingStore<Taken extends TakenTask = TakenTask> {
  /** Put-if-absent: refused when the id is taken, with the task that has it. */
  enqueue(task: NewTask, write: Stamp): Promise<Outcome<Begun<Taken>, Taken>>;
  /** Strongly consistent. */
  get(key: TaskKey): Promise<Taken | undefined>;
}

/** As it is written when it is enqueued. */
export type Begun<Task> = Task & { readonly state: 'ready' };

export class TaskAdder<Taken extends TakenTask = TakenTask> {
  readonly #store: AddingStore<Taken>;
  readonly #runtime: Runtime;

  constructor({ store, runtime }: { readonly store: AddingStore<Taken>; readonly runtime: Runtime }) {
    this.#store = store;
    this.#runtime = runtime;
  }

  /** @throws MismatchError when the id is there with other work */
  async add(task: NewTask): Promise<Enqueued> {
    const { id, queue } = task;
    const stamp = stampOf(this.#runtime);
    const outcome = await this.#store.enqueue(task, stamp);
    if (outcome.kind === 'applied' || hasBegun(outcome, stamp))
      return { id, queue, created: true, replaced: false, follows: false };
    const taken = outcome.current ?? (await this.#store.get(task));
    assert(taken !== undefined, `${describeTask(task)} was refused by a row that is not there`);
    return this.settle(task, taken);
  }

  /** The id is taken, by the same work or by other: the policy `reject` of `dedup.ts`. */
  protected async settle(task: NewTask, taken: Taken): Promise<Enqueued> {
    if (!isSameWork(taken, task)) throw mismatch(task, taken);
    return kept(task);
  }
}

/** The requested task exists, or the existing one is to be kept. */
export function kept({ id, queue }: TaskKey): Enqueued {
  return { id, queue, created: false, replaced: false, follows: false };
}

/** Whether an attempt whose answer was lost has begun the work after all, and it has gone on since: it would be begun a second time. */
export function hasBegun(outcome: Extract<Outcome<TakenTask>, { kind: 'refused' }>, { now }: Stamp): boolean {
  return outcome.earlierAttempt === 'unknown' && outcome.current?.createdAt === now;
}

export function mismatch(task: NewTask, current: TakenTask): MismatchError {
  return new MismatchError(
    describeTask(task),
    `${describeTask(task)} is there already (${current.state}) with ` +
      `${current.name === task.name ? 'other input' : `another name, ${current.name}`}: ` +
      `an id stands for one piece of work, give this one an id of its own`,
  );
}
