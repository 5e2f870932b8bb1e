/**
 * Counts distinct ids in bounded memory: beyond the limit, the oldest ids are forgotten.
 * A forgotten id counts again when it returns.
 */
export class DistinctCount {
  readonly #limit: number;
  readonly #remembered = new Set<string>();
  #count = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get count(): number {
    return this.#count;
  }

  meet(id: string): void {
    if (this.#remembered.has(id)) return;
    this.#remembered.add(id);
    this.#count++;
    if (this.#remembered.size <= this.#limit) return;
    // A set lists what was added first, first.
    const [first] = this.#remembered;
    if (first !== undefined) this.#remembered.delete(first);
  }
}
