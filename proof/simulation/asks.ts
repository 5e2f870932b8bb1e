/** Waiting requests from their callers' view: the rows show queue entries and holders, but not whether a caller still waits. */

import type { SimulatedProcess } from '../../test/support/machines/process.ts';

export interface Ask {
  readonly kind: 'lock' | 'permit';
  /** The row that decides. */
  readonly row: string;
  readonly session: string;
  readonly process: SimulatedProcess;
  /** How much of the limit a permit takes. */
  readonly permits: number;
  /** Whether it queues. */
  readonly fair: boolean;
  /** True time at which it began. */
  readonly since: number;
}

export class Asks {
  readonly #now: () => number;
  readonly #open = new Set<Ask>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A caller begins to wait. Returns a function that ends the wait; a caller whose process is gone no longer waits. */
  begin(ask: Omit<Ask, 'since'>): () => void {
    const begun = { ...ask, since: this.#now() };
    this.#open.add(begun);
    return () => void this.#open.delete(begun);
  }

  /** Those who wait, longest first. */
  get open(): readonly Ask[] {
    for (const ask of this.#open) if (!ask.process.isAlive) this.#open.delete(ask);
    return [...this.#open];
  }
}
