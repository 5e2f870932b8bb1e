/** One task into the table: its payload in its place, its row, and what becomes of it when its id is taken. */
import { MismatchError, StoreUnavailableError, assert } from '../errors.ts';
import type { Outcome } from '../lease/outcome.ts';
import type { Stamp } from '../lease/stamp.ts';
import { stampOf } from '../lease/stamp.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { REJECT, followingId, judgeDuplicate } from '../task/dedup.ts';
import type { PayloadStore } from '../task/payload.ts';
import { checkedIn, dropPayload } from '../task/payload.ts';
import type { NewTask, TaskStore } from '../task/store.ts';
import type { EndedTask, ReadyTask, TaskRecord } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import { validName } from '../validate/name.ts';

export interface Enqueued {
  /** As given, or made; of a task that replaces a running one, the id of what follows it. */
  readonly id: string;
  readonly queue: string;
  /** False when a task with this id was there already, in whatever state. */
  readonly created: boolean;
  /** The task that was there, and waited, took over the new input and time. */
  readonly replaced: boolean;
}

/** What adding a task needs of the store, and no more: clients that only enqueue stay small. */
export type EnqueueStore = Pick<TaskStore, 'enqueue' | 'replace' | 'renew' | 'get' | 'deletePayload'>;

type Refused<Row> = Extract<Outcome<Row>, { kind: 'refused' }>;

export class TaskWriter {
  readonly #store: EnqueueStore;
  readonly #runtime: Runtime;
  readonly #payloads: PayloadStore | undefined;

  constructor(
    ports: { readonly store: EnqueueStore; readonly runtime: Runtime },
    { payloads }: { readonly payloads?: PayloadStore | undefined } = {},
  ) {
    this.#store = ports.store;
    this.#runtime = ports.runtime;
    this.#payloads = payloads;
  }

  /** With its payload in its place; one that turns out not to be needed is removed again. */
  async put(asked: NewTask): Promise<Enqueued> {
    const task = await this.checkedIn(asked);
    try {
      const enqueued = await this.#putRow(task);
      if (!enqueued.created && !enqueued.replaced) await this.#discard(task);
      return enqueued;
    } catch (error) {
      if (error instanceof MismatchError) await this.#discard(task);
      throw error;
    }
  }

  async #discard({ payload }: NewTask): Promise<void> {
    const { reference } = payload ?? {};
    if (reference !== undefined) await tidy(async () => this.#payloads?.delete(reference));
  }

  /** What a task had before it got other work; a payload in the table may have been replaced by the new one. */
  async #dropFormer(former: TaskRecord, task: NewTask): Promise<void> {
    const isReplaced = former.payload?.reference === undefined && task.payload?.reference === undefined;
    if (!isReplaced || task.payload === undefined)
      await tidy(() => dropPayload(former, { tasks: this.#store, payloads: this.#payloads }));
  }

  async #putRow(task: NewTask): Promise<Enqueued> {
    const { id, queue } = task;
    const stamp = stampOf(this.#runtime);
    const outcome = await this.#store.enqueue(task, stamp);
    if (outcome.kind === 'applied' || hasBegun(outcome, stamp)) return { id, queue, created: true, replaced: false };
    return this.#settleDuplicate(task, outcome.current ?? (await this.#store.get(task)));
  }

  /** The id is taken: see `dedup.ts`. */
  async #settleDuplicate(task: NewTask, current: TaskRecord | undefined): Promise<Enqueued> {
    const { id, queue, dedup = REJECT } = task;
    assert(current !== undefined, `${describeTask(task)} was refused by a row that is not there`);
    const stamp = stampOf(this.#runtime);
    switch (judgeDuplicate(current, task, dedup, stamp.now)) {
      case 'keep':
        return { id, queue, created: false, replaced: false };
      case 'mismatch':
        throw mismatch(task, current);
      case 'follow':
        return this.#putRow({ ...task, id: validName('the id of what follows a running task', followingId(current)) });
      case 'replace': {
        const outcome = await this.#store.replace(current as ReadyTask, task, stamp);
        if (outcome.kind === 'refused' && outcome.earlierAttempt === 'unknown') throw undecided(task);
        if (outcome.kind === 'refused') return this.#putRow(task);
        await this.#dropFormer(current, task);
        return { id, queue, created: false, replaced: true };
      }
      case 'renew': {
        const outcome = await this.#store.renew(current as EndedTask, task, stamp);
        if (outcome.kind === 'refused' && !hasBegun(outcome, stamp)) return this.#putRow(task);
        await this.#dropFormer(current, task);
        return { id, queue, created: true, replaced: false };
      }
    }
  }

  /** With its payload in the user's store, if it is one of those. */
  checkedIn(task: NewTask): Promise<NewTask> {
    return checkedIn(task, this.#payloads, this.#runtime.ids.unique());
  }
}

async function tidy(removal: () => Promise<void>): Promise<void> {
  try {
    await removal();
  } catch {
    // The outcome stands, and its caller must hear of it. What stays is swept in time:
    // by the table's TTL, or a lifecycle rule of the bucket.
  }
}

/** Whether an attempt whose answer was lost has begun the work after all, and it has gone on since: it would be begun a second time. */
function hasBegun(outcome: Refused<TaskRecord>, { now }: Stamp): boolean {
  return outcome.earlierAttempt === 'unknown' && outcome.current?.createdAt === now;
}

/** The row does not say whose input it has once it has been claimed. */
function undecided(task: NewTask): StoreUnavailableError {
  return new StoreUnavailableError(
    `${describeTask(task)}: whether its input was replaced is not known, for the answer was lost and the task has gone on since; ` +
      'ask again if the work may be done once more',
    { applied: 'unknown' },
  );
}

function mismatch(task: NewTask, current: TaskRecord): MismatchError {
  return new MismatchError(
    describeTask(task),
    `${describeTask(task)} is there already (${current.state}) with ${current.name === task.name ? 'other input' : `another name, ${current.name}`}: ` +
      `an id stands for one piece of work, give this one an id of its own`,
  );
}
