import type { Outcome, WriteLimits } from '../../core/lease/outcome.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import type { CommitOutcome, Effect, NewTask, SequencedStamp, TaskStore } from '../task/task-store.ts';
import type { Claim, Json, PastAttempt, ReadyTask, RunningTask, TaskError, TaskRecord } from '../task/task.ts';

/** A pack to be created: a task whose input is a list. */
export type NewPack = NewTask & { readonly input: readonly Json[] };

/** The items that one write records in a pack's row. */
export interface PackEntry {
  /** Items that have ended since the last one. */
  readonly done: readonly number[];
  /** All results so far, by index, if they are kept. */
  readonly results: Readonly<Record<string, Json>> | undefined;
}

/**
 * The number of a claim's write, from 1, and of the last write known to be in the row. Each write builds on the row's content,
 * and an older write that arrives late is refused.
 */
export type NumberedStamp = SequencedStamp & { readonly previousSequence: number };

/** An item that leaves its pack: the initial content of its own row. */
export interface MovedItem {
  readonly index: number;
  /** Due at its `runAt`, unless it is dead. */
  readonly task: NewTask;
  readonly isDead: boolean;
  /** The attempts in the pack that count for the item. */
  readonly attempts: number;
  /** The attempts that probably crashed because of this item. */
  readonly deaths: number;
  readonly error: TaskError | undefined;
  readonly lastAttempt: PastAttempt;
  /** The item was running when the last holder crashed. The other items were not, so that claim does not count against them. */
  readonly isSuspect: boolean;
}

/**
 * Additional operations of packs. Every write is conditional; see `tasks/rows/task/pack-statements.ts` for the guards.
 * A holder's write is refused if the pack was taken over, so the row belongs to another holder,
 * or if its own row shows that the item's end is already decided.
 */
export interface PackStore {
  /** Put-if-absent, as for any task. */
  enqueue(pack: NewPack, write: Stamp): Promise<Outcome<ReadyTask, TaskRecord>>;
  /**
   * Records items as done. It also bars a canceled commit, even without items: each write of a pack refuses late copies of earlier writes.
   */
  record(
    claim: Claim,
    entry: PackEntry,
    write: NumberedStamp,
    limits?: WriteLimits,
  ): Promise<Outcome<TaskRecord, TaskRecord>>;
  /** Records items and the pack as done. */
  finish(
    claim: Claim,
    entry: PackEntry,
    write: NumberedStamp,
    limits?: WriteLimits,
  ): Promise<Outcome<TaskRecord, TaskRecord>>;
  /** Completes one item in one transaction with its effects, and records items that ended before. */
  commit(
    claim: Claim,
    index: number,
    entry: PackEntry,
    effects: readonly Effect[],
    write: NumberedStamp,
    limits?: WriteLimits,
  ): Promise<CommitOutcome>;
  /** Moves one item to its own row; `canceled` if its id is taken. */
  move(
    claim: Claim,
    item: MovedItem,
    entry: PackEntry,
    write: NumberedStamp,
    limits?: WriteLimits,
  ): Promise<CommitOutcome>;
  /** Cancels an open item whose pack waits, or whose holder has expired. */
  cancelItem(observed: ReadyTask | RunningTask, index: number, write: Stamp): Promise<Outcome<TaskRecord>>;
  /** Cancels an item of a running pack and notifies the holder; also refused if the holder's session has ended. */
  cancelRunningItem(
    observed: RunningTask,
    index: number,
    write: Stamp,
  ): Promise<{ readonly kind: 'applied' | 'refused' }>;
}

/** Stores tasks, including packs. */
export interface TaskAndPackStore extends TaskStore {
  readonly bulk: PackStore;
}
