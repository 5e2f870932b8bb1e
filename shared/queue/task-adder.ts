/** One task into the table, unless its id is taken: what every client that enqueues does, and all that a small one does. */
import { InvariantError, MismatchError, assert } from '../errors.ts';
import type { Outcome } from '../lease/outcome.ts';
import type { Stamp } from '../lease/stamp.ts';
import { stampOf } from '../lease/stamp.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { DuplicateVerdict } from '../task/dedup.ts';
import { REJECT, judgeDuplicate } from '../task/dedup.ts';
import type { NewTask, TaskStore } from '../task/store.ts';
import type { TaskRecord } from '../task/task.ts';
import { describeTask } from '../task/task.ts';

export interface Enqueued {
  /** As given, or made; of a task that replaces a running one, the id of what follows it. */
  readonly id: string;
  readonly queue: string;
  /** False when a task with this id was there already, in whatever state. */
  readonly created: boolean;
  /** The task that was there, and waited, took over the new input and time. */
  readonly replaced: boolean;
}

/** What adding a task needs of the store, and no more. */
export type AddingStore = Pick<TaskStore, 'enqueue' | 'get'>;

/** What a policy makes of a task that is there, beyond leaving it as it is. */
export type Change = Exclude<DuplicateVerdict, 'keep' | 'mismatch'>;

type Refused<Row> = Extract<Outcome<Row>, { kind: 'refused' }>;

export class TaskAdder {
  readonly #store: AddingStore;
  readonly #runtime: Runtime;

  constructor({ store, runtime }: { readonly store: AddingStore; readonly runtime: Runtime }) {
    this.#store = store;
    this.#runtime = runtime;
  }

  /** @throws MismatchError when the id is there with other work */
  async add(task: NewTask): Promise<Enqueued> {
    const { id, queue } = task;
    const stamp = stampOf(this.#runtime);
    const outcome = await this.#store.enqueue(task, stamp);
    if (outcome.kind === 'applied' || hasBegun(outcome, stamp)) return { id, queue, created: true, replaced: false };
    return this.#settleDuplicate(task, outcome.current ?? (await this.#store.get(task)));
  }

  /** For those whose tasks may ask for it. */
  protected change(task: NewTask, _current: TaskRecord, change: Change, _stamp: Stamp): Promise<Enqueued> {
    throw new InvariantError(`${describeTask(task)} asks for ${change}, which this client does not do`);
  }

  /** The id is taken: see `dedup.ts`. */
  async #settleDuplicate(task: NewTask, current: TaskRecord | undefined): Promise<Enqueued> {
    const { id, queue, dedup = REJECT } = task;
    assert(current !== undefined, `${describeTask(task)} was refused by a row that is not there`);
    const stamp = stampOf(this.#runtime);
    const verdict = judgeDuplicate(current, task, dedup, stamp.now);
    if (verdict === 'keep') return { id, queue, created: false, replaced: false };
    if (verdict === 'mismatch') throw mismatch(task, current);
    return this.change(task, current, verdict, stamp);
  }
}

/** Whether an attempt whose answer was lost has begun the work after all, and it has gone on since: it would be begun a second time. */
export function hasBegun(outcome: Refused<TaskRecord>, { now }: Stamp): boolean {
  return outcome.earlierAttempt === 'unknown' && outcome.current?.createdAt === now;
}

function mismatch(task: NewTask, current: TaskRecord): MismatchError {
  return new MismatchError(
    describeTask(task),
    `${describeTask(task)} is there already (${current.state}) with ` +
      `${current.name === task.name ? 'other input' : `another name, ${current.name}`}: ` +
      `an id stands for one piece of work, give this one an id of its own`,
  );
}
