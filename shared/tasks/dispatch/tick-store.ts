import type { Outcome, Stamp } from '../../core/lease/write.ts';

/** One firing of a schedule. */
export interface Tick {
  readonly schedule: string;
  /** The scheduled time in the schedule's own form: the same text in every delivery. */
  readonly scheduledTime: string;
}

export interface TickRecord extends Tick {
  readonly dispatchedAt: number;
  /** Id of the invocation that took it. A retry of the invocation has the same id. */
  readonly by: string;
}

/** Store of dispatched ticks. A tick is taken only once, by put-if-absent. */
export interface TickStore {
  take(tick: Tick, write: Stamp & { readonly by: string }): Promise<Outcome<TickRecord>>;
}
