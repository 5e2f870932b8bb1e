export const WINDOW_MS = 10_000;

/** Sums the amounts of the last ten seconds. */
export class Recent {
  readonly #entries: { readonly at: number; readonly much: number }[] = [];
  #first = 0;
  #sum = 0;

  add(at: number, much: number): number {
    this.#entries.push({ at, much });
    this.#sum += much;
    return this.sumAt(at);
  }

  sumAt(at: number): number {
    for (let oldest = this.#entries[this.#first]; oldest !== undefined && oldest.at < at - WINDOW_MS;) {
      this.#sum -= oldest.much;
      oldest = this.#entries[++this.#first];
    }
    return this.#sum;
  }
}
