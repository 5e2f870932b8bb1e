import type { Outcome, WriteLimits } from '../lease/outcome.ts';
import type { Stamp } from '../lease/stamp.ts';

/** What operators have set for a queue. A queue that nobody has touched has none. */
export interface QueueRecord {
  readonly queue: string;
  /** No task of it is claimed; those that run go on to their end. */
  readonly isPaused: boolean;
  readonly reason: string;
  readonly changedAt: number;
  readonly nonce: string;
}

/** Where queues' settings live. Every write is conditional; see `dynamo/statements/queue.ts` for the guards. */
export interface QueueStore {
  /** Strongly consistent. */
  get(queue: string): Promise<QueueRecord | undefined>;
  /** Refused when it was written since it was observed. */
  change(
    queue: string,
    observed: QueueRecord | undefined,
    to: { readonly isPaused: boolean; readonly reason: string },
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<QueueRecord>>;
}
