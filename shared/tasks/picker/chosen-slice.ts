/**
 * `ChosenSlice` is the part of an own partition that a worker tries first.
 *
 * Workers that one plan started have the plan's slices. Other workers of the shard are not known to each other: each of them reads the same
 * oldest entries, and loses claims to the others. A worker that loses too many chooses a slice at random, half the size of the last one.
 * It keeps the slice while entries of it are left.
 */
import type { Random } from '../../core/runtime/random.ts';
import { integerBetween } from '../../core/runtime/random.ts';
import type { Slice } from '../task/slice.ts';
import { isInSlice } from '../task/slice.ts';
import { CLAIMS_PER_LOSS, PAGE_ENTRIES, SCAN_ENTRIES } from './tuning.ts';

export class ChosenSlice {
  readonly #planned: Slice | undefined;
  readonly #random: Random;
  #slice: Slice | undefined;
  #won = 0;
  #lost = 0;

  constructor(planned: Slice | undefined, random: Random) {
    this.#planned = planned;
    this.#slice = planned;
    this.#random = random;
  }

  /** Whether the worker has a part of the partition, not all of it. */
  get isPart(): boolean {
    return this.#slice !== undefined;
  }

  has(id: string): boolean {
    return this.#slice === undefined || isInSlice(id, this.#slice);
  }

  /** Draws an entry with the chance that it is in the slice. */
  get isDrawn(): boolean {
    return this.#slice === undefined || this.#random.next() * this.#slice.of < 1;
  }

  /** Notes a claim of an entry. */
  claimed(isWon: boolean): void {
    if (isWon) this.#won++;
    else this.#lost++;
    const isCrowded = this.#lost >= CLAIMS_PER_LOSS && this.#lost * CLAIMS_PER_LOSS >= this.#won;
    if (isCrowded) {
      const of = Math.min(SCAN_ENTRIES, 2 * (this.#slice?.of ?? 1));
      this.#slice = { nth: integerBetween(this.#random, 0, of), of };
    }
    if (isCrowded || this.#won + this.#lost >= 2 * PAGE_ENTRIES) {
      this.#won = 0;
      this.#lost = 0;
    }
  }

  /** Notes that no entries of the slice are left. */
  finish(): void {
    this.#slice = this.#planned;
  }
}
