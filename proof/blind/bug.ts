/** A change of shipped source, made while it is loaded. */

/** A piece of source that occurs once, and what stands in its place. */
export interface Swap {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** The shipped code has no switch for it. A piece that no longer exists fails loudly. */
export interface Bug extends Swap {
  readonly id: string;
  readonly what: string;
  /** Further places, which change together with the first. */
  readonly also?: readonly Swap[];
}

/**
 * Blind bugs: written by readers of the product who had not read its tests.
 *
 * The seeded bugs of `proof/mutants` show that each rule can fail, because their authors knew the rules. These show what a stranger's bug
 * meets: `what` is what a user would see. Each names the test that finds it, in the first tier but for one.
 */
export interface BlindBug extends Bug {
  readonly test: string;
  /** Part of the full title. */
  readonly title: string;
}

/** The files that a bug changes. */
export function filesOf({ file, also = [] }: Bug): readonly string[] {
  return [...new Set([file, ...also.map((swap) => swap.file)])];
}
