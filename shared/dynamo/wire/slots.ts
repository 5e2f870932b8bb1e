/** So many at a time; the others wait in the order in which they came, and a caller that gives up leaves the line. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(atMost: number) {
    this.#free = atMost;
  }

  /** @returns what gives the slot back; undefined when the signal aborted first */
  async enter(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.#free > 0) this.#free--;
    else if (!(await this.#passedOn(signal))) return undefined;
    return () => {
      const [next] = this.#waiting;
      if (next === undefined) this.#free++;
      else next();
    };
  }

  #passedOn(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const leave = (isMine: boolean): void => {
        this.#waiting.delete(take);
        signal.removeEventListener('abort', giveUp);
        resolve(isMine);
      };
      const take = (): void => leave(true);
      const giveUp = (): void => leave(false);
      this.#waiting.add(take);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }
}
