/**
 * A seeded bug: shipped source, changed while it is loaded.
 * The shipped code has no switch for it. A piece that no longer exists fails loudly.
 */
import type { Profile, ProfileName } from '../simulation/profile.ts';
import type { Swap } from '../blind/bug.ts';

export interface Mutant {
  /** `M`: bugs that the protocol was designed against; `X`: later ones. */
  readonly id: string;
  readonly what: string;
  readonly swaps: readonly Swap[];
  /** Any of these, and no other invariant, counts as its death. */
  readonly killedBy: readonly string[];
  /** The group of faults that brings it out; the swarm where absent. */
  readonly profile?: ProfileName;
  /** Settings that it needs, where the swarm would take long to draw them together. */
  readonly changes?: Partial<Profile>;
}

/** A change that changes no behaviour, and why. */
export interface Equivalent {
  readonly id: string;
  readonly what: string;
  readonly proof: string;
}
