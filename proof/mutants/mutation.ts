/**
 * A seeded bug: shipped source, changed at one place while it is loaded.
 * The shipped code has no switch for it; a place that is not found any more fails loudly, so that no mutant dies of old age.
 */
import type { Profile, ProfileName } from '../simulation/profile.ts';
import type { Change } from './change.ts';
import type { Place } from './place.ts';

/** One change, at a place that is named by the structure of the source: reformatting, moving and renaming locals leave it valid. */
export interface Edit {
  /** Path in the repository. */
  readonly file: string;
  /** Declarations from the outside in, joined by dots: functions, classes, methods, constants, properties of object literals. */
  readonly in: string;
  /** The place within, each step within the one before; absent: the value of the declaration. */
  readonly at?: Place | readonly Place[];
  readonly change: Change;
}

export interface Mutant {
  /** `M` for those that the protocol was designed against, `X` for those that came up later. */
  readonly id: string;
  readonly what: string;
  readonly edits: readonly Edit[];
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
