/**
 * Parking: hides a due task whose key is at capacity from workers, until the key has capacity again.
 *
 * A worker that finds a task of a key at capacity leaves it in the ready index while the key keeps moving,
 * because reading its entry again is cheaper than two writes.
 * It parks the task once it will probably wait for longer than `PARKED_FROM_MS`:
 * one conditional write moves its index entry among the
 * parked tasks of its key, in the order of priority and due time. There no worker reads it, and no dispatcher counts it as due.
 *
 * Guarantees
 *   - Ending a task never depends on this. The write that ends it frees the slot in its own transaction;
 *     afterwards the same process unparks as
 *     many of the key's parked tasks as it has capacity for. The claim checks the key again, so unparking too many costs reads, or another
 *     park.
 *   - After parking, a worker reads the key again and unparks as many tasks as it has capacity for by then, so it does not miss an end in
 *   between.
 *   - Tasks left parked by a crash, a lost request, a cancelled head of a rate, or an index that lags
 *     behind are unparked by the next tick. Without a dispatcher, workers do it: each checks every
 *     minute (`REPAIR_EVERY_MS`) as long as one of its slots polls for work, even if it finds other work; if all slots are
 *     busy, it checks when the first of them is free. With a dispatcher, only a worker that is completely idle does so.
 *
 * Does not guarantee
 *   - Order. The first parked task of a key is unparked, but any waiting task of the key may be next.
 */
import type { WriteLimits } from '../../core/lease/outcome.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import type { Priority, ReadyTask, TaskKey } from './task.ts';

/**
 * Parking and unparking a task costs six write units.
 * A visible task costs each worker of its shard half a read unit every two seconds, but of many waiting tasks
 * a worker reads only a few. A flood of 10,000 tasks at 22 a second took 14.6 write and 8.5 read units per task with a threshold of a
 * minute, and 12.0 and 5.1 with five minutes (`npm run bench -- keys --tasks 10000 --limits 1`).
 */
export const PARKED_FROM_MS = 300_000;
/**
 * How often to unpark tasks that were missed when a slot became free.
 * With nothing parked, a repair is four queries of half a read unit each: 0.03 read units a second for each worker without a
 * dispatcher, compared with 1.0 for the polls of an idle one. A key with parked tasks adds up to 15, because it reads 25 rows.
 * A repair covers 50 keys in each quarter of the keys; with more keys, it takes several repairs.
 */
export const REPAIR_EVERY_MS = 60_000;

/** An entry of the parked tasks. */
interface ParkedListing extends TaskKey {
  readonly priority: Priority;
  readonly readyAt: number;
}

export interface ParkingStore {
  /**
   * Parks those tasks of one key whose writes succeed, and then reads the key again.
   * Returns the tasks that the key has capacity for. They are visible.
   */
  park(
    observed: readonly { readonly task: ReadyTask; readonly write: Stamp }[],
    key: string,
    limits?: WriteLimits,
  ): Promise<readonly ReadyTask[]>;
  /** Makes the task due later, still visible. Refused silently if another worker has it. */
  defer(observed: ReadyTask, readyAt: number, write: Stamp, limits?: WriteLimits): Promise<void>;
  /**
   * Unparks as many tasks of a key as it has capacity for, and returns them.
   * If that uses up its rate, one more task becomes visible for the next window.
   * @param at `reserved`: slots for tasks that are about to be claimed. Default: none
   */
  putBack(
    queue: string,
    key: string,
    at: { readonly now: number; readonly reserved?: number },
  ): Promise<readonly ReadyTask[]>;
  /**
   * Repairs the keys of a queue that have parked tasks, as many as fit into one call.
   * @param at `from`: position to begin at, from 0 to 1, different each time
   */
  repairParked(
    queue: string,
    at: { readonly now: number; readonly from: number; readonly onDamaged: (error: unknown) => void },
  ): Promise<readonly ReadyTask[]>;
  /** Returns all parked tasks of a queue, a page at a time, in arbitrary order: for operators. Eventually consistent. */
  page(queue: string, after: unknown): Promise<{ readonly hints: readonly ParkedListing[]; readonly next: unknown }>;
}
