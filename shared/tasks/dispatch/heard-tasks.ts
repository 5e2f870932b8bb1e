/** Tasks in a waker's recent stream records. The index may not show them yet. */

/** The index shows inserted tasks within this time. */
export const INDEX_LAG_MS = 1_000;
/** How long inserted ids are remembered. A task is noted within the lag of the index. */
const KEPT_MS = 2 * INDEX_LAG_MS;
/** Maximum number of recently inserted tasks to remember. */
const MAX_ANNOUNCED_IDS = 10_000;

interface HeardTask {
  readonly id: string;
  readonly at: number;
  /** Whether the note of starts has told other wakers. */
  isNoted: boolean;
}

export class HeardTasks {
  #all: readonly HeardTask[] = [];

  /** @returns how many of them are new */
  hear(ids: readonly string[], now: number): number {
    // A durable task has a record for each answer, so an id counts as new again after the lag of the index.
    const known = new Set(this.recent(now).map(({ id }) => id));
    const added = ids.filter((id) => !known.has(id));
    const kept = this.#all.filter(({ id, at }) => now - at < KEPT_MS && !added.includes(id));
    this.#all = [...kept, ...added.map((id) => ({ id, at: now, isNoted: false }))].slice(-MAX_ANNOUNCED_IDS);
    return added.length;
  }

  get ids(): ReadonlySet<string> {
    return new Set(this.#all.map(({ id }) => id));
  }

  /** Those that the index may not show yet. */
  recent(now: number): readonly HeardTask[] {
    return this.#all.filter(({ at }) => now - at < INDEX_LAG_MS);
  }

  unnoted(now: number): readonly HeardTask[] {
    return this.recent(now).filter(({ isNoted }) => !isNoted);
  }
}
