/**
 * Faults that the rules have found and that are not repaired yet. A violation that one of them explains is told as known, and fails no run.
 * An entry goes with the change that repairs its fault; a list that is not empty says what the library does not keep.
 */
import type { Violation } from './invariants/rule.ts';
import type { ProfileName } from './profile.ts';

export interface KnownFault {
  readonly rule: string;
  /** What is wrong, in a sentence. */
  readonly what: string;
  /** A history that shows it. */
  readonly profile: ProfileName;
  readonly seed: bigint;
  /** Violations of the rule in other rows, or of other words, are not explained by it. */
  readonly row: RegExp;
  readonly message: RegExp;
}

export const KNOWN_FAULTS: readonly KnownFault[] = [
  {
    rule: 'I0',
    profile: 'row',
    seed: 100n,
    row: /^w/,
    message: /was told that it holds nothing, and holds semaphore#.*; a second delivery took it/,
    what: 'a caller is told that a semaphore has no room just when a second delivery of an answered request takes a permit for its session',
  },
  {
    rule: 'L12',
    profile: 'row',
    seed: 100n,
    row: /^semaphore#/,
    message: /no code of it knows; a second delivery took it/,
    what: 'an admission that the network delivers twice, the second time after its permit came back, takes a permit that is not looked for',
  },
];

export function knownFaultOf({ invariant, row, message }: Violation): KnownFault | undefined {
  return KNOWN_FAULTS.find((fault) => fault.rule === invariant && fault.row.test(row) && fault.message.test(message));
}
