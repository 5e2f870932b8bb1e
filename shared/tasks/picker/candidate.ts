/** What a worker gets from the task picker, and what it says of it in the end. */
import type { Fullness } from '../task/key-limit.ts';
import type { Found } from './candidates.ts';

/** What became of a candidate. */
export type Outcome =
  /** It ended here, or was put off: its key has room for another. */
  | 'settled'
  /** It ran here, and keeps its place in its key: handed back, or lost. */
  | 'kept'
  /** It had expired before any worker began it. */
  | 'expired'
  /** Not tried after all. */
  | 'untried'
  /** Another worker was faster, or it must be tried alone and others are at work. */
  | 'contended'
  /** No task of its name is defined here. */
  | 'unknownName'
  /** Its last write could not be decided: running it once more under the same claim would hide that, so it is never offered here again. */
  | 'undecided'
  /** Its key is full. */
  | { readonly full: Fullness };

/** A task that a worker may try. It is in hand until `end`, which is called once. */
export type Candidate = Found & {
  /** It was claimed, and begins. */
  begin(): void;
  end(outcome: Outcome): Promise<void>;
};
