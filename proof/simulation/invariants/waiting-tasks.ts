/** The waiting tasks of one partition and tenant: the oldest of them, and the time since when it is the oldest. */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';

interface Entry {
  readonly row: string;
  readonly readyAt: number;
}

/** The oldest waiting task, and the number of later tasks that each process has begun since. */
export interface Oldest extends Entry {
  readonly since: number;
  readonly passedBy: Map<string, number>;
}

export class WaitingTasks {
  readonly #waiting = new Map<string, number>();
  /** Sorted by the time due. Entries of tasks that no longer wait are removed when they come first. */
  #entries: Entry[] = [];
  #oldest: Oldest | undefined;

  add(row: string, { readyAt: due }: DynamoItem): void {
    const readyAt = Number(due);
    this.#waiting.set(row, readyAt);
    let at = this.#entries.length;
    while (at > 0 && this.#entries[at - 1]!.readyAt > readyAt) at--;
    this.#entries.splice(at, 0, { row, readyAt });
  }

  delete(row: string): void {
    this.#waiting.delete(row);
  }

  oldestAt(now: number): Oldest | undefined {
    const gone = this.#entries.findIndex(({ row, readyAt }) => this.#waiting.get(row) === readyAt);
    this.#entries = gone > 0 ? this.#entries.slice(gone) : gone < 0 ? [] : this.#entries;
    const [first] = this.#entries;
    if (first?.row !== this.#oldest?.row || first?.readyAt !== this.#oldest?.readyAt)
      this.#oldest = first && { ...first, since: now, passedBy: new Map() };
    return this.#oldest;
  }
}
