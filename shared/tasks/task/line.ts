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
 *     so does one whose worker died, until another worker has taken it over and ended it.
 *   - The next is made the head in the very transaction that ends the one before, so no line has to be watched, and none stands still.
 *   - Tasks that another one spawns with its `commit`, or waits for, take their places in that same transaction, in the order given:
 *     behind everybody who joined before it, before everybody who joins after it.
 *     If it stands in the line itself, they come after those who wait.
 *
 * Does not guarantee
 *   - That a task may wait for one behind it: its own children are refused there; theirs are not seen, and the wait would never end.
 *   - That a transaction of the user's own can take a place: a line that moved on has to be looked at again, and only we can send again.
 *   - That followers stop when their head dies: they go on without it. A dead one that is redriven joins at the end, behind everybody.
 *
 * A task in a line costs enqueue 5 or 6, claim 1, and completion 10 write units,
 * or 5 when none waits behind it; one without pays nothing for this.
 * Spawned, the head costs 3 as any task does, each that stands behind another 4,
 * and the line 2 once, or nothing if its parent leaves it just then.
 * All enqueues and ends of one key pass through one row: some dozens a second.
 */

export interface LinePlace {
  readonly key: string;
  /** Grows with each task that joins. */
  readonly ticket: number;
}
