/**
 * Parking: a due task whose key has no room leaves the sight of workers, and comes back when the key has room again.
 *
 * A worker that meets a task of a full key leaves it in the ready index while the key moves:
 * reading its entry again is cheaper than two writes.
 * It parks the task once it will probably wait for longer than `PARKED_FROM_MS`:
 * one conditional write moves its index entry to a place among the
 * parked tasks of its key, in the order of priority and the time it was due. There no worker reads it, and no dispatcher counts it as due.
 *
 * Guarantees
 *   - Ending a task never depends on this. What ends it frees the place in its own transaction;
 *     then, outside of it, the same process puts back as
 *     many of the key's parked tasks as have room. The claim checks the key again, so putting back too many costs reads, or another park.
 *   - A worker that parks looks at the key once more and puts back what has room by then: an end in between is not missed.
 *   - What a crash, a lost request, a cancelled head of a rate, or an index that lags
 *     behind has left parked is put back by the next tick. Without a dispatcher a worker does it: each looks every
 *     minute (`REPAIR_EVERY_MS`) for as long as a slot of it looks for work, whatever else it finds, and one whose slots are all at
 *     work looks when the first of them ends. Beside a dispatcher, a worker does so that has nothing at all to do.
 *
 * Does not guarantee
 *   - Order. Of the tasks of a key that wait, the first parked one is put back, and any may be next.
 */
import type { WriteLimits } from '../../core/lease/outcome.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import type { Priority, ReadyTask, TaskKey } from './task.ts';

/**
 * Parking and putting back are six write units.
 * A task in sight costs a worker near it half a read unit every two seconds, but of many that wait
 * a worker reads few: a flood of 10,000 tasks that moves at 22 a second took 14.6 write and 8.5 read units a task when it was parked from a
 * minute on, and 12.0 and 5.1 from five (`npm run bench -- keys --tasks 10000 --limits 1`).
 */
export const PARKED_FROM_MS = 300_000;
/**
 * How often those are put back whose place was freed without that.
 * While nothing is parked, a repair is four queries of half a read unit each: 0.03 read units a second for each worker without a
 * dispatcher, where looks cost 1.0 of one that is idle. A key with parked tasks adds up to 15, for it reads 25 of their rows.
 * It comes to 50 keys of each quarter of them: of more, it takes several.
 */
export const REPAIR_EVERY_MS = 60_000;

/** An entry of the parked tasks. */
export interface ParkedHint extends TaskKey {
  readonly priority: Priority;
  readonly readyAt: number;
}

export interface ParkingStore {
  /**
   * Parks tasks of one key, as far as the store lets it; then looks at the key again.
   * Returns those that it has room for: they are in sight.
   */
  park(
    observed: readonly { readonly task: ReadyTask; readonly write: Stamp }[],
    key: string,
    limits?: WriteLimits,
  ): Promise<readonly ReadyTask[]>;
  /** Due later, in sight. Refused silently: another worker has it. */
  defer(observed: ReadyTask, readyAt: number, write: Stamp, limits?: WriteLimits): Promise<void>;
  /**
   * Puts back the parked tasks of a key that have room, and returns them.
   * When that uses its rate up, one more stands in sight for the next window.
   * @param at `reserved`: places that tasks will take which are about to be claimed; absent: none
   */
  putBack(
    queue: string,
    key: string,
    at: { readonly now: number; readonly reserved?: number },
  ): Promise<readonly ReadyTask[]>;
  /**
   * Does so for the keys of a queue that have parked tasks, as many as can be looked at in one go.
   * @param at `from`: where among them to begin, from 0 to 1, another each time
   */
  repairParked(
    queue: string,
    at: { readonly now: number; readonly from: number; readonly onDamaged: (error: unknown) => void },
  ): Promise<readonly ReadyTask[]>;
  /** All parked tasks of a queue, a page at a time, in no order that means anything: for people. Eventually consistent. */
  page(queue: string, after: unknown): Promise<{ readonly hints: readonly ParkedHint[]; readonly next: unknown }>;
}
