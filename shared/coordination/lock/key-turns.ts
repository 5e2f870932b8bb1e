/** Turns at keys: work on one key goes one after the other, in the order of its callers. */
export class KeyTurns {
  /** The last work at each key; resolves when that has ended. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** @param keys sorted, so that two callers of several keys never wait for each other */
  async run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = keys.map((key) => this.#last.get(key) ?? Promise.resolve());
    const ended = Promise.withResolvers<unknown>();
    for (const key of keys) this.#last.set(key, ended.promise);
    try {
      await Promise.all(before);
      return await work();
    } finally {
      for (const key of keys) if (this.#last.get(key) === ended.promise) this.#last.delete(key);
      ended.resolve(undefined);
    }
  }
}
