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
 * Numbers a claim's writes, from 1, and names the last write known to be in the row: each write builds on the row's content,
 * and a late older write is refused.
 */
export type NumberedStamp = SequencedStamp & { readonly previousSequence: number };

/** An item that leaves its pack: the initial content of its own row. */
export interface MovedItem {
  readonly index: number;
  /** Due at its `runAt`, unless it is dead. */
  readonly task: NewTask;
  readonly isDead: boolean;
  /** Those of its claims in the pack that count. */
  readonly attempts: number;
  /** Those of them that killed their workers, as far as is known of an item. */
  readonly deaths: number;
  readonly error: TaskError | undefined;
  readonly lastAttempt: PastAttempt;
  /** It was running when the last holder crashed. The others were not, so that claim does not count against them. */
  readonly isSuspect: boolean;
}

/**
 * Additional operations of packs. Every write is conditional; see `tasks/rows/task/pack-statements.ts` for the guards.
 * A holder's write is refused if the pack was taken over: then the row belongs to another holder;
 * or if the row, still its own, shows that the item has already been decided.
 */
export interface PackStore {
  /** Put-if-absent, as any task. */
  enqueue(pack: NewPack, write: Stamp): Promise<Outcome<ReadyTask, TaskRecord>>;
  /** Items are done. With or without items, it bars a canceled commit: each write of a pack refuses the late copies of earlier ones. */
  record(
    claim: Claim,
    entry: PackEntry,
    write: NumberedStamp,
    limits?: WriteLimits,
  ): Promise<Outcome<TaskRecord, TaskRecord>>;
  /** Items are done, and so is the pack. */
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
