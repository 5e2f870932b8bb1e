import type { Outcome, WriteLimits } from '../lease/outcome.ts';
import type { Stamp } from '../lease/stamp.ts';

/** What is known of a queue as a whole. A queue that nobody has touched, and no dispatcher has seen a task of, has none. */
export interface QueueRecord {
  readonly queue: string;
  /** No task of it is claimed; those that run go on to their end. */
  readonly isPaused: boolean;
  readonly reason: string;
  readonly changedAt: number;
  readonly nonce: string;
  /** Lanes that a dispatcher has seen tasks in, by name: see `lane.ts`. Undefined: no dispatcher has looked, any may be in use. */
  readonly lanes?: ReadonlySet<string> | undefined;
}

/** Where queues' rows live. Every write is conditional; see `dynamo/statements/queue.ts` for the guards. */
export interface QueueStore {
  /** Strongly consistent. */
  get(queue: string): Promise<QueueRecord | undefined>;
  /** Eventually consistent, at half the price: for whoever asks again and again. */
  glance(queue: string): Promise<QueueRecord | undefined>;
  /** Refused when it was written since it was observed. */
  change(
    queue: string,
    observed: QueueRecord | undefined,
    to: { readonly isPaused: boolean; readonly reason: string },
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<QueueRecord>>;
  /** Adds lanes that tasks were seen in; what operators have set stays. Refused when it was written since it was observed. */
  addLanes(
    queue: string,
    observed: QueueRecord | undefined,
    lanes: ReadonlySet<string>,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<QueueRecord>>;
}
