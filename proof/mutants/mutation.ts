import type { Bug } from '../blind/bug.ts';
import type { Profile, ProfileName } from '../simulation/profile.ts';

/** A seeded bug. `M`: bugs that the protocol was designed against; `X`: later ones. */
export interface Mutant extends Bug {
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
