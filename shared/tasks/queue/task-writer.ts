/** Writes one task into the table: its payload and its row, or other work for the existing task with its id. */
import { MismatchError } from '../../core/errors.ts';
import type { Stamp } from '../../core/lease/write.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import { fateOfFollower, fateOfRenewal } from '../task/created-by.ts';
import type { Dedup } from '../task/dedup.ts';
import { debouncedTo, judgeDuplicate } from '../task/dedup.ts';
import { isFollowedAnew, isOverridden } from '../task/newest-wins.ts';
import type { PayloadStore } from '../task/payload.ts';
import type { NewTask, TaskStore } from '../task/task-store.ts';
import type { EndedTask, ReadyTask, RunningTask, TaskRecord } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import type { AddingStore, Enqueued } from './task-adder.ts';
import { TaskAdder, kept, mismatch, undecided } from './task-adder.ts';

/** The part of the store that is needed to give an existing task other work. */
export type EnqueueStore = AddingStore<TaskRecord> & Pick<TaskStore, 'replace' | 'follow' | 'renew'>;

export class TaskWriter extends TaskAdder<TaskRecord> {
  readonly #store: EnqueueStore;
  readonly #runtime: Runtime;

  constructor(
    ports: { readonly store: EnqueueStore; readonly runtime: Runtime },
    options: { readonly payloads?: PayloadStore | undefined } = {},
  ) {
    super(ports, options);
    this.#store = ports.store;
    this.#runtime = ports.runtime;
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
          await this.discard(seen);
          return replaced;
        }
        if (outcome.earlierAttempt === 'unknown') throw undecided(task, outcome.current);
        if (!isOverridden(seen, outcome.current, task)) return { refusedBy: outcome.current };
        await this.discard(task);
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
        await this.discard(current);
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
        await this.discard(task);
        return followed;
      }
    }
    await this.discard({ queue, id, payload: follower?.payload });
    return followed;
  }
}

/** The row that refused a write. Undefined: it is gone. */
interface Refused {
  readonly refusedBy: TaskRecord | undefined;
}

function waits(task: NewTask): MismatchError {
  return new MismatchError(
    describeTask(task),
    `${describeTask(task)} is the callback of a batch, and waits for the children: only the last of them makes it due; ` +
      'use another id, or cancel it first',
  );
}
