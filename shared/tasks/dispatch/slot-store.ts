import type { Outcome } from '../../core/lease/outcome.ts';
import type { Stamp } from '../../core/lease/stamp.ts';

/** One firing of a schedule. */
export interface Tick {
  readonly schedule: string;
  /** The scheduled time in the schedule's own form: the same text in every delivery. */
  readonly slot: string;
}

export interface SlotRecord extends Tick {
  readonly dispatchedAt: number;
  /** The invocation that took it; a retry of the invocation has the same id. */
  readonly by: string;
}

/** The ledger of ticks: a slot is taken once, by put-if-absent. */
export interface SlotStore {
  take(tick: Tick, write: Stamp & { readonly by: string }): Promise<Outcome<SlotRecord>>;
}
