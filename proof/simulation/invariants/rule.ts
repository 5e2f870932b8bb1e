/** The interface of every invariant: a stream of events in, violations out. */
import { inflateRawSync } from 'node:zlib';
import type { OverlapPolicy } from '../../../shared/tasks/schedule/schedule.ts';
import type { Happened, HistoryEvent, Read, Sent } from '../history.ts';

/** Assumptions of the rules about a history, in addition to its events. */
export interface Assumptions {
  /** Whether any two clocks differ by at most the stated bound: the conditional invariants are judged only then. */
  readonly clocksHold: boolean;
  /** Whether reads, and the indexes, show the latest write. */
  readonly readsAreFresh: boolean;
  /** Tasks of full keys that can hardly run and stand in the index. */
  readonly heldBack?: number;
  /** How many may run at once, each with so many tasks. */
  readonly workers: number;
  readonly concurrency: number;
  readonly shards: number;
  /** Whether workers are long-lived, and so all have the same shards. */
  readonly workersStay?: boolean;
  /** Whether the queue lists its finished tasks, from the beginning. */
  readonly lists?: boolean;
  /** The policy for a due run while a task of the schedule has not ended. */
  readonly overlap: OverlapPolicy;
  readonly ttlMs: number;
  readonly lockDelayMs: number;
  readonly maxClockSkewMs: number;
  /** How long a sender waits for the response to one attempt. */
  readonly attemptTimeoutMs: number;
  /** Claims that a task may have, by the name of its definition. */
  readonly maxAttempts: (taskName: string) => number;
  /** Those of them that may end with the death of their worker. */
  readonly maxDeaths: (taskName: string) => number;
  /** How far clocks may run wrong during one lease: added where a span is measured by one clock and judged by true time. */
  readonly toleranceMs: number;
}

export interface Violation {
  /** The invariant, as ARCHITECTURE numbers it: `I3`. */
  readonly invariant: string;
  readonly message: string;
  readonly at: number;
  /** The key whose timeline tells the story. */
  readonly row: string;
}

/** Receives the violation; the history continues. */
export type Report = (invariant: string, row: string, message: string) => void;

interface Rules {
  /** Judges an event; called in the order of the history. */
  on(event: Judged): void;
  /** Judges a request that leaves: half of all events, and hardly a rule asks. */
  onSent?(event: Sent): void;
  /** The store's response to a read: nearly as frequent, and only one rule needs it. */
  onRead?(event: Read): void;
  /** Called once, when the history is over. */
  end?(): void;
}

/** Faults of processes are for readers only. */
type Judged = Exclude<HistoryEvent, Sent | Read | Happened>;

/** Notes how near a rule has come to its bound, for the summary only. A lower bound is the amount, and the measured amount its bound. */
export type Measure = (invariant: string, amount: number, bound: number) => void;

/** The amount that came nearest to its bound. */
export interface Nearest {
  readonly amount: number;
  readonly bound: number;
}

export function isNearer(one: Nearest, other: Nearest | undefined): boolean {
  return other === undefined || one.amount * other.bound > other.amount * one.bound;
}

/** A family of invariants about one thing. */
export type Family = (assumptions: Assumptions, report: Report, measure: Measure) => Rules;

/** A row of the task table by its key's prefix. */
export const isTask = (row: string): boolean => row.startsWith('task#');
export const isLock = (row: string): boolean => row.startsWith('lock#');
export const isSemaphore = (row: string): boolean => /^(?:semaphore|permits)#/.test(row);
export const isSession = (row: string): boolean => row.startsWith('session#');

/** The text of an attribute that may be deflated; undefined if it is neither text nor deflated. Apart from the code's own decoder. */
export function textOf(attribute: unknown): string | undefined {
  if (!(attribute instanceof Uint8Array)) return typeof attribute === 'string' ? attribute : undefined;
  try {
    return inflateRawSync(attribute).toString();
  } catch {
    return undefined;
  }
}
