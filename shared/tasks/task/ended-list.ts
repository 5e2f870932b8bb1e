/** The list of a queue's ended tasks: the facts of an entry without its row. */
import type { ChildEnding } from './batch.ts';
import type { TaskKey } from './task.ts';

/** Only the moment and the state are certain: a dead task of a queue that does not list has no more. */
export interface EndedFacts {
  readonly at: number;
  readonly state: ChildEnding;
  /** Its first 100 bytes, as of its key. */
  readonly name?: string;
  /** From when it was due to the claim of its last attempt. */
  readonly waitedMs?: number;
  /** How long its last attempt took. Absent: it ended while it waited. */
  readonly ranMs?: number;
  readonly attempts?: number;
  readonly key?: string;
  readonly label?: string;
}

/** `damaged`: its text cannot be read; the row may still be fine. */
export type EndedEntry = TaskKey &
  (({ readonly kind: 'ended' } & EndedFacts) | { readonly kind: 'damaged'; readonly text: string });

/** Whether it is dead, or ended after an attempt that failed or whose worker died. */
export function hasFailed({ state, attempts = 1 }: { readonly state: string; readonly attempts?: number }): boolean {
  return state === 'dead' || attempts > 1;
}

export interface EndedQuery {
  readonly queue: string;
  /** Of the list: those of the queue's workers, or a larger number that was ever in use. */
  readonly shards: number;
  readonly states: readonly ChildEnding[];
  /** The first and the last moment. */
  readonly since: number;
  readonly until: number;
}
