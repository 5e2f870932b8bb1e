/** Changes of shipped source, made while it is loaded. The shipped code has no switches for them. */
import type { Profile, ProfileName } from '../simulation/profile.ts';

/** A piece of source that occurs once, and its replacement. */
export interface Swap {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A change that somebody has thought of. A piece that no longer exists fails loudly. */
export interface Bug extends Swap {
  readonly id: string;
  readonly what: string;
  /** Further places, which change together with the first. */
  readonly also?: readonly Swap[];
}

/** A seeded bug: it shows that a rule can fail. `M`: bugs that the protocol was designed against; `X`: later ones. */
export interface Mutant extends Bug {
  /** Any of these, and no other invariant, counts as its death. */
  readonly killedBy: readonly string[];
  /** The group of faults that brings it out; the swarm where absent. */
  readonly profile?: ProfileName;
  /** Settings that it needs, where the swarm would take long to draw them together. */
  readonly changes?: Partial<Profile>;
}

/**
 * A blind bug: written by a reader of the product who had not read its tests. It shows what a stranger's bug meets: `what` is what a user
 * would see. Each names the test that finds it, in the first tier with one exception.
 */
export interface BlindBug extends Bug {
  readonly test: string;
  /** Part of the full title. */
  readonly title: string;
}

/** One change of one expression, condition or block, as StrykerJS lists it. Nobody chose it. */
export interface Drawn {
  readonly file: string;
  readonly line: number;
  readonly mutator: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A change that changes no behaviour, and why. */
export interface Equivalent {
  readonly id: string;
  readonly what: string;
  readonly proof: string;
}

export type Change = Mutant | BlindBug | Drawn;

export function filesOf({ file, also = [] }: Bug): readonly string[] {
  return [...new Set([file, ...also.map((swap) => swap.file)])];
}

/** @throws if a piece of a bug does not occur exactly once */
export function changed(source: string, file: string, change: Bug | Drawn): string {
  if ('mutator' in change) return change.file === file ? spliced(source, change) : source;
  const { id, also = [], ...first } = change;
  return [first, ...also]
    .filter((swap) => swap.file === file)
    .reduce((text, { from, to }) => {
      const found = text.split(from).length - 1;
      if (found !== 1)
        throw new Error(`bug ${id}: ${JSON.stringify(from)} is in ${file} ${found} times, once is needed`);
      return text.replace(from, () => to);
    }, source);
}

export function spliced(source: string, { start, end, text }: Drawn): string {
  return source.slice(0, start) + text + source.slice(end);
}
