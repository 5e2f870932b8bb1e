/**
 * Strict order: the tasks of one key run one at a time, in the order in which they were enqueued.
 *
 *     enqueue ──▶ the line of the key, each with a ticket ──▶ runs when the line's turn is its ticket ──▶ ended: the turn is the next ticket
 *
 * A task in a line stands among the others of its line in the index, in the order of their tickets, from its enqueue to its end.
 * Workers try the first one only. A claim does not write the line: its row was read before, and a turn that has come never goes back.
 *
 * Guarantees
 *   - If the enqueue of one task of a line returned before the enqueue of another began, the first is over before the second begins.
 *   - At most one task of a line is in state `running`, and the next begins after it has ended: done, dead or cancelled.
 *     A head that is retried, snoozed, handed back, waits for its children, or is not due yet, still blocks its followers;
 *     a head whose worker crashed also blocks them, until another worker has taken it over and ended it.
 *   - The transaction that ends the head passes the turn, so a line does not need monitoring, and does not stall.
 *     A task that is cancelled or expires before its turn keeps its place, and the worker that meets it at its turn passes the turn.
 *   - Tasks that a task spawns with its `commit`, or waits for, join the line in that same transaction, in the order given:
 *     behind all tasks that joined before it, before all that join after it.
 *     If the parent is in the line itself, they come after the tasks that already wait.
 *
 * Does not guarantee
 *   - That a task may wait for one behind it: its own children in its line are refused; its children's children are not detected, and the
 *     wait would never end.
 *   - That a user's own transaction can add to a line: if the line has moved on, it must be read again, and only our code can resend.
 *   - That followers stop when their head dies: they continue without it. A dead task that an operator retries joins at the end.
 *   - That a line continues past a task whose row was deleted by hand, or from a turn that was set back: `leasehold keys pass` passes it.
 *     For a worker the line is like one whose head waits for children: neither shows in the line. `leasehold doctor` reads all rows.
 *   - Order after the line's row was deleted by hand.
 *
 * A task in a line costs 5 write units to enqueue, 1 to claim, and 5 to complete; a task without a line pays nothing for this.
 * When spawned, it costs 3 like any task, and the line costs 2 once, or nothing if its parent leaves it in the same transaction.
 * All enqueues and ends of one key write the same row: a few dozen per second.
 */

/** The state in a line's row. */
export interface LineState {
  /** The last ticket given out. */
  readonly tail: number;
  /** The ticket whose turn it is: one more than `tail` if the line is empty. */
  readonly turn: number;
}

export interface LinePlace {
  readonly key: string;
  /** Grows with each task that joins. */
  readonly ticket: number;
}

/** The first ticket of each line among the entries seen so far, for callers that count a line once, and do not read its turn. */
export class FirstTickets {
  readonly #first = new Map<string, number>();

  see(place: LinePlace | undefined): void {
    if (place !== undefined && place.ticket < (this.#first.get(place.key) ?? Infinity))
      this.#first.set(place.key, place.ticket);
  }

  /** The first ticket that was seen of each line. */
  get byLine(): ReadonlyMap<string, number> {
    return this.#first;
  }

  /** Whether no entry was seen before it in its line. */
  has(place: LinePlace | undefined): boolean {
    return place === undefined || this.#first.get(place.key) === place.ticket;
  }
}
