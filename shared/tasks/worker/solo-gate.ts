/**
 * Runs a suspect task alone in its worker.
 *
 * When a worker crashes, all its running tasks lose an attempt, although only one of them may be the cause.
 * So if a task's previous worker crashed, its last attempt is made alone. If the worker crashes again, the cause is known,
 * and no other task is marked dead because it ran in the same worker.
 */
export class Company {
  #inside = 0;
  /** One is alone, or waits for the others to leave. */
  #closed = false;
  readonly #waiting: (() => void)[] = [];

  /** Waits for a slot, shared or alone; a task that waits to be alone keeps newcomers out. Returns a function that frees the slot. */
  async enter(alone: boolean): Promise<() => void> {
    while (this.#closed) await this.#change();
    this.#closed = alone;
    while (alone && this.#inside > 0) await this.#change();
    this.#inside++;
    return () => {
      this.#inside--;
      if (alone) this.#closed = false;
      for (const wake of this.#waiting.splice(0)) wake();
    };
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}
