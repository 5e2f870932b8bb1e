/**
 * `Share` is the part of the entries of its shards that one worker tries first, so that workers that read the same entries do not fight.
 *
 * Workers that one plan has started have the plan's shards and slices. Others do not know of each other. They begin with few entries at a
 * time, and whoever loses too many claims tries a part of its part, as much smaller as its losses say, chosen at random.
 * Where nothing of its share is left, a worker tries twice as many.
 */
import type { Random } from '../../core/runtime/random.ts';
import { integerBetween, shuffled } from '../../core/runtime/random.ts';
import type { Slice } from '../task/slice.ts';
import { isInSlice } from '../task/slice.ts';
import { CLAIMS_PER_LOSS, PAGE_ENTRIES } from './tuning.ts';

export class Share {
  readonly isPlanned: boolean;
  readonly #random: Random;
  #slice: Slice;
  /** How many entries to take at once. Grows by one with each claim won; a lost claim sets it to one. */
  #most: number;
  #won = 0;
  #lost = 0;

  /** @param isPlanned whether all workers of its shards have slices of one plan */
  constructor(planned: Slice | undefined, isPlanned: boolean, random: Random) {
    this.#slice = planned ?? { nth: 0, of: 1 };
    this.#most = isPlanned ? PAGE_ENTRIES : 2;
    this.isPlanned = isPlanned;
    this.#random = random;
  }

  /** Takes entries to try: the oldest, or while others may try them too, some of the oldest twice as many as there are free slots. */
  take<One>(entries: readonly One[], wanted: number): readonly One[] {
    if (wanted <= this.#most) return entries.slice(0, wanted);
    return shuffled(this.#random, entries.slice(0, 2 * wanted)).slice(0, this.#most);
  }

  /** @param widened how often the share was doubled */
  has(id: string, widened: number): boolean {
    const of = this.#of(widened);
    return of === 1 || isInSlice(id, { nth: this.#slice.nth % of, of });
  }

  /** Draws an entry of anybody's with the chance that it is in the share; `times` multiplies the chance. */
  isDrawn(widened: number, times = 1): boolean {
    return this.#random.next() * this.#of(widened) <= times;
  }

  /** Notes the fate of a claim. */
  claimed(isWon: boolean): void {
    if (!this.isPlanned) this.#most = isWon ? Math.min(PAGE_ENTRIES, this.#most + 1) : 1;
    if (isWon) this.#won++;
    else this.#lost++;
    const all = this.#won + this.#lost;
    // Planned workers are few, so they tolerate some losses first.
    const isTooMany = this.#lost * CLAIMS_PER_LOSS > all && (this.#lost >= CLAIMS_PER_LOSS || !this.isPlanned);
    if (!isWon && isTooMany) this.#narrow(all / Math.max(1, this.#won));
    else if (all >= 2 * PAGE_ENTRIES) this.#won = this.#lost = 0;
  }

  /** @param workers how many seem to try the same entries */
  #narrow(workers: number): void {
    this.#won = this.#lost = 0;
    const { nth, of } = this.#slice;
    const parts = 2 ** Math.ceil(Math.log2(Math.max(2, workers)));
    if (of * parts <= PAGE_ENTRIES)
      this.#slice = { nth: nth + of * integerBetween(this.#random, 0, parts), of: of * parts };
  }

  #of(widened: number): number {
    return Math.max(1, Math.floor(this.#slice.of / 2 ** widened));
  }
}
