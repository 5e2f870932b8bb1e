/**
 * Strict order: the tasks of one key run one at a time, in the order in which they were enqueued.
 *
 *     enqueue ──▶ the line of the key, each with a ticket ──▶ its head is ready, and runs ──▶ ended ──▶ the next is the head
 *                 the others are held: no worker sees them
 *
 * Guarantees
 *   - Of two tasks of a line, the one whose enqueue returned before the other's began is over before the other begins.
 *   - At most one task of a line is in state `running`, and none begins before its head has ended: done, dead or cancelled.
 *     A head that is retried, snoozed, handed back, waits for its children, or is not due yet, goes on to block its followers;
 *     so does one whose worker died, until somebody has taken it over and ended it.
 *   - The next is made the head in the very transaction that ends the one before, so nobody has to watch a line, and none stands still.
 *
 * Does not guarantee
 *   - That followers stop when their head dies: they go on without it. A dead one that is redriven joins at the end, behind everybody.
 *
 * A task in a line costs enqueue 5 or 6, claim 1, and completion 10 write units, or 5 when nobody waits behind it; one without pays nothing for this.
 * All enqueues and ends of one key pass through one row: some dozens a second.
 */

export interface LinePlace {
  readonly key: string;
  /** Grows with each task that joins. */
  readonly ticket: number;
}
