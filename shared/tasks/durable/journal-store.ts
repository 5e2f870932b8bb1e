/** The writes of the holder of a durable task. */
import type { WriteLimits } from '../../core/lease/stamp.ts';
import type { Effect, EffectReason, SequencedStamp, Settled } from '../task/task-store.ts';
import type { Claim, Json, TaskError, TaskRecord } from '../task/task.ts';
import type { PackedElement } from './packed.ts';

/** The row's part of a journal, by a writer that has folded all of it. */
export interface JournalTail {
  readonly elements: readonly PackedElement[];
  /** Number of the row's elements that the writer has folded. */
  readonly seen: number;
}

export interface JournalPart {
  readonly name: string;
  readonly before: string | undefined;
  readonly text: string;
}

export interface CheckpointWrite extends JournalTail {
  /** Rows for elements that leave the task's row. */
  readonly newParts: readonly JournalPart[];
  /** Until when the new parts are needed. */
  readonly keptUntil: number;
  /** Operations that wait for something from outside from now on, or no longer. Not both in one write. */
  readonly opened: readonly string[];
  readonly closed: readonly string[];
  /** Whether the row needs its map of heartbeats. */
  readonly hasBeats: boolean;
  readonly effects: readonly Effect[];
}

/** `canceled`: an effect was refused. */
export type CheckpointOutcome =
  | { readonly kind: 'applied' }
  | { readonly kind: 'refused'; readonly current: TaskRecord | undefined }
  | { readonly kind: 'canceled'; readonly reasons: readonly EffectReason[] };

export interface JournalEnd {
  readonly result?: Json | undefined;
  /** Present: the task is dead. */
  readonly error?: TaskError | undefined;
  /** The separate rows of a done task, which are kept as long as the task's own row from now on. */
  readonly apart?: { readonly parts: readonly string[]; readonly arrivals: readonly string[] } | undefined;
}

export interface JournalStore {
  /** Replaces the row's part of the journal, in one transaction with the effects. Older elements are moved to their own rows before. */
  checkpoint(
    claim: Claim,
    write: CheckpointWrite,
    stamp: SequencedStamp,
    limits?: WriteLimits,
  ): Promise<CheckpointOutcome>;
  /** Gives the task back until `readyAt`, or until something arrives. Refused if something has arrived that the caller has not seen. */
  suspend(
    claim: Claim,
    write: JournalTail & { readonly readyAt: number },
    stamp: SequencedStamp,
    limits?: WriteLimits,
  ): Promise<Settled>;
  /** Ends the task, with the last elements of its journal. Then it shortens the life of the separate rows, best effort. */
  end(
    claim: Claim,
    elements: readonly string[],
    end: JournalEnd,
    stamp: SequencedStamp,
    limits?: WriteLimits,
  ): Promise<Settled>;
}

/** Makes the store of journals, in addition to a store of tasks. */
export type OpenJournals = (tasks: { readonly parts: unknown }) => JournalStore;
