/** Writes of a durable task's holder, and answers from outside. */
import type { Stamp, WriteLimits } from '../../core/lease/write.ts';
import type { Effect, EffectReason, SequencedStamp, Settled, TaskStore } from '../task/task-store.ts';
import type { Claim, Json, TaskError, TaskKey, TaskRecord } from '../task/task.ts';
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

/** An external event for an operation. */
export interface Arrival {
  readonly openKey: string;
  /** The element of the journal. */
  readonly element: string;
  /** Result and error, if they are in a separate row. */
  readonly content: string | undefined;
}

type ArriveOutcome =
  | { readonly kind: 'applied' }
  | { readonly kind: 'refused'; readonly earlierAttempt: 'none' | 'unknown' };

interface JournalParts {
  /** From the oldest to the newest, by name. */
  readonly texts: ReadonlyMap<string, string>;
  /** Whether none is missing. */
  readonly isWhole: boolean;
}

/** Only the bundles of clients and of durable tasks have it. */
export interface ArrivalStore {
  /** Refused if the task no longer waits for it, or was written since it was observed. */
  arrive(observed: TaskRecord, arrival: Arrival, write: Stamp): Promise<ArriveOutcome>;
  /** Notes a heartbeat of a callback. Refused if the task no longer waits for it. */
  beat(
    key: TaskKey,
    callback: { readonly openKey: string; readonly op: string },
    now: number,
  ): Promise<'applied' | 'refused'>;
  /** The elements of a journal that are no longer in the task's row, as one text for each of their rows. Strongly consistent. */
  journalParts(task: TaskRecord): Promise<JournalParts>;
  /** Arrivals in separate rows, by operation. Strongly consistent. */
  arrivals(key: TaskKey): Promise<ReadonlyMap<string, string>>;
}

/** A client's store. */
export type AnsweringStore = TaskStore & ArrivalStore;

export interface JournalStore extends Pick<ArrivalStore, 'journalParts' | 'arrivals'> {
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
