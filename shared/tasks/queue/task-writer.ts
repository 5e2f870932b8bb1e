/** Writes one task into the table: its payload and its row, or other work for the existing task with its id. */
import { MismatchError } from '../../core/errors.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import { CommitRefusedError } from '../task/control.ts';
import { fateOfFollower, fateOfRenewal } from '../task/created-by.ts';
import type { Dedup } from '../task/dedup.ts';
import { debouncedTo, judgeDuplicate } from '../task/dedup.ts';
import { isFollowedAnew, isOverridden } from '../task/newest-wins.ts';
import type { PayloadStore } from '../task/payload.ts';
import { checkedIn, dropPayload } from '../task/payload.ts';
import type { NewTask, TaskStore, UserWrite } from '../task/task-store.ts';
import type { EndedTask, ReadyTask, RunningTask, TaskRecord } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import type { AddingStore, Enqueued } from './task-adder.ts';
import { TaskAdder, kept, mismatch, undecided } from './task-adder.ts';

/** The part of the store that is needed to give an existing task other work. */
export type EnqueueStore = AddingStore<TaskRecord> & Pick<TaskStore, 'replace' | 'follow' | 'renew' | 'deletePayload'>;

export class TaskWriter extends TaskAdder<TaskRecord> {
  readonly #store: EnqueueStore;
  readonly #runtime: Runtime;
  readonly #payloads: PayloadStore | undefined;

  constructor(
    ports: { readonly store: EnqueueStore; readonly runtime: Runtime },
    { payloads }: { readonly payloads?: PayloadStore | undefined } = {},
  ) {
    super(ports);
    this.#store = ports.store;
    this.#runtime = ports.runtime;
    this.#payloads = payloads;
  }

  /** Adds a task with its payload. A payload that turns out to be unnecessary is removed again. */
  async put(asked: NewTask, writes?: readonly UserWrite[]): Promise<Enqueued> {
    const task = await this.checkedIn(asked);
    try {
      const enqueued = await this.add(task, writes);
      if (!enqueued.created && !enqueued.replaced) await this.#discard(task);
      return enqueued;
    } catch (error) {
      if (error instanceof MismatchError || error instanceof CommitRefusedError) await this.#discard(task);
      throw error;
    }
  }

  async #discard({ payload }: NewTask): Promise<void> {
    const { reference } = payload ?? {};
    if (reference !== undefined) await tidy(async () => this.#payloads?.delete(reference));
  }

  /** Removes the former payload of a task that got other work. The new payload may already have replaced one in the table. */
  async #dropFormer(former: TaskRecord, task: NewTask): Promise<void> {
    const { reference, isApart = false } = former.payload ?? {};
    const isOverwritten = task.payload !== undefined && task.payload.reference === undefined;
    if (!isOverwritten || isApart || reference !== undefined)
      await tidy(() => dropPayload(former, { tasks: this.#store, payloads: this.#payloads }));
  }

  /** The id is taken: the request's policy decides. A refusal shows the row, so that each further round is one write. */
  protected override settle(task: NewTask, taken: TaskRecord): Promise<Enqueued> {
    const { dedup } = task;
    if (dedup === undefined) return super.settle(task, taken);
    let current: TaskRecord | undefined = taken;
    return retryContended(
      describeTask(task),
      this.#runtime,
      async ({ isAfterPause }): Promise<Enqueued | Contended> => {
        if (isAfterPause) current = await this.#store.get(task);
        // TTL has deleted it.
        if (current === undefined) return this.add(task);
        const settled = await this.#settle(task, current, dedup);
        if ('id' in settled) return settled;
        current = settled.refusedBy;
        return contended();
      },
    );
  }

  async #settle(task: NewTask, current: TaskRecord, dedup: Dedup): Promise<Enqueued | Refused> {
    const { id, queue } = task;
    const stamp = stampOf(this.#runtime);
    switch (judgeDuplicate(current, task, dedup, stamp.now)) {
      case 'keep':
        return kept(task);
      case 'mismatch':
        throw mismatch(task, current);
      case 'follow':
        return this.#follow(task, current as RunningTask | ReadyTask, stamp);
      case 'waits':
        throw waits(task);
      case 'replace': {
        const seen = current as ReadyTask;
        const runAt = debouncedTo(seen, task, { isFollowing: false, now: stamp.now });
        const outcome = await this.#store.replace(seen, { ...task, runAt }, stamp);
        const replaced = { id, queue, created: false, replaced: true, follows: false };
        if (outcome.kind === 'applied') {
          await this.#dropFormer(seen, task);
          return replaced;
        }
        if (outcome.earlierAttempt === 'unknown') throw undecided(task, outcome.current);
        if (!isOverridden(seen, outcome.current, task)) return { refusedBy: outcome.current };
        await this.#discard(task);
        return replaced;
      }
      case 'renew': {
        const ended = current as EndedTask;
        const outcome = await this.#store.renew(ended, task, stamp);
        if (outcome.kind === 'refused') {
          const fate = outcome.earlierAttempt === 'none' ? 'not applied' : fateOfRenewal(ended, outcome.current, stamp);
          if (fate === 'unknown') throw undecided(task, outcome.current);
          if (fate === 'not applied') return { refusedBy: outcome.current };
        }
        await this.#dropFormer(current, task);
        return { id, queue, created: true, replaced: false, follows: false };
      }
    }
  }

  async #follow(task: NewTask, observed: RunningTask | ReadyTask, stamp: Stamp): Promise<Enqueued | Refused> {
    const { id, queue } = task;
    const { follower } = observed;
    const runAt = debouncedTo(observed, task, { isFollowing: true, now: stamp.now });
    const outcome = await this.#store.follow(observed, { ...task, runAt }, stamp);
    const followed = { id, queue, created: follower === undefined, replaced: follower !== undefined, follows: true };
    if (outcome.kind === 'refused') {
      const fate = outcome.earlierAttempt === 'none' ? 'not applied' : fateOfFollower(observed, outcome.current, stamp);
      if (fate === 'unknown') throw undecided(task, outcome.current);
      if (fate === 'not applied') {
        if (!isFollowedAnew(observed, outcome.current)) return { refusedBy: outcome.current };
        await this.#discard(task);
        return followed;
      }
    }
    if (follower !== undefined) {
      const former = { queue, id, payload: follower.payload };
      await tidy(() => dropPayload(former, { tasks: this.#store, payloads: this.#payloads }));
    }
    return followed;
  }

  /** Returns the task with its payload in the user's store, if it is too large for the table. */
  checkedIn(task: NewTask): Promise<NewTask> {
    return checkedIn(task, this.#payloads, this.#runtime.ids.unique());
  }
}

/** The row that refused a write. Undefined: it is gone. */
interface Refused {
  readonly refusedBy: TaskRecord | undefined;
}

async function tidy(removal: () => Promise<void>): Promise<void> {
  try {
    await removal();
  } catch {
    // The outcome is final, so the caller must get it even if this removal fails. The table's TTL or the bucket's lifecycle rule
    // deletes the remaining payload.
  }
}

function waits(task: NewTask): MismatchError {
  return new MismatchError(
    describeTask(task),
    `${describeTask(task)} is the callback of a batch, and waits for the children: only the last of them makes it due; ` +
      'use another id, or cancel it first',
  );
}
