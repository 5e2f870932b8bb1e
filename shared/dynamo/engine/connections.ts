/**
 * The connections of a client. A request takes one before its time begins to run, and waits for it in order of arrival.
 *
 * Renewals and releases go first, and one connection is theirs alone: a crowd of a process must not end the leases of that process,
 * nor keep what it has released.
 */
type Waiter = () => void;

export class Connections {
  #limit: number;
  readonly #first = new Set<Waiter>();
  readonly #others = new Set<Waiter>();
  #used = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get limit(): number {
    return this.#limit;
  }

  /** For a client that tells only when it is used how many it has. */
  set limit(limit: number) {
    this.#limit = limit;
    this.#admit();
  }

  /** How many wait. */
  get waiting(): number {
    return this.#first.size + this.#others.size;
  }

  /** @returns whether one was free: a free one has no waiters */
  tryTake(goesFirst: boolean): boolean {
    if (this.#used >= (goesFirst ? this.#limit : Math.max(1, this.#limit - 1))) return false;
    this.#used++;
    return true;
  }

  /** @returns whether one became free before the signal aborted */
  async take(goesFirst: boolean, signal: AbortSignal): Promise<boolean> {
    if (this.tryTake(goesFirst)) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const line = goesFirst ? this.#first : this.#others;
    const begin = (): void => resolve(true);
    const giveUp = (): void => {
      if (line.delete(begin)) resolve(false);
    };
    line.add(begin);
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
    const isMine = await promise;
    signal.removeEventListener('abort', giveUp);
    return isMine;
  }

  giveBack(): void {
    this.#used--;
    this.#admit();
  }

  #admit(): void {
    for (const line of [this.#first, this.#others])
      for (const next of line) {
        if (!this.tryTake(line === this.#first)) return;
        line.delete(next);
        next();
      }
  }
}
