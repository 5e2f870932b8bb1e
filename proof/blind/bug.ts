/**
 * Blind bugs: written by readers of the product who had not read its tests.
 *
 * The seeded bugs of `proof/mutants` show that each rule can fail, because their authors knew the rules. These show what a stranger's bug
 * meets. Each names the test that finds it, in the first tier but for one.
 */
export interface BlindBug {
  readonly id: string;
  /** What a user would see. */
  readonly what: string;
  readonly swaps: readonly Swap[];
  readonly killedBy: Killer;
}

/** A piece of source that occurs once, and what stands in its place. */
export interface Swap {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export interface Killer {
  readonly test: string;
  /** Part of the full title. */
  readonly title: string;
}
