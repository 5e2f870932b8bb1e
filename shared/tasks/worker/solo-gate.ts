/**
 * Runs a suspect task alone in its worker.
 *
 * When a worker dies, every task in its hands has lost an attempt, and only one of them may have been the cause.
 * So the last attempt of a task that was taken over from a dead worker is made alone: if the worker dies once more, the cause is known;
 * and a task that merely stood beside it is not buried for it.
 */
export class Company {
  #inside = 0;
  /** One is alone, or waits for the others to leave. */
  #closed = false;
  readonly #waiting: (() => void)[] = [];

  /** Waits for a place, beside others or alone; one that wants to be alone keeps newcomers out. Returns what gives the place up. */
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
