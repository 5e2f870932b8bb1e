/** Mutants that cannot be killed, with the reason. */
import type { Equivalent } from '../changes/change.ts';

export const EQUIVALENT: readonly Equivalent[] = [
  {
    id: 'M8a',
    what: 'the holder’s margin is removed',
    proof:
      'A contender alone carries the whole clock bound: it ends a session only when its own wall clock has passed expiresAt + Δ. ' +
      'The holder stops when its wall clock reaches expiresAt, if not before. Two clocks never differ by more than Δ, so the holder stops first, margin or none.',
  },
  {
    id: 'M11',
    what: 'trust is judged by the wall clock alone',
    proof:
      'The same comparison: holder and contender judge one stored number, expiresAt, each by a wall clock, and those two differ by at most Δ at every moment, ' +
      'however they step. The monotonic clock is there for clocks that break the bound.',
  },
  {
    id: 'M31',
    what: 'ending a session does not wait for a renewal in flight',
    proof:
      'A renewal requires `live`, and nothing makes a session live again: one that arrives after the end is refused, one before it changes nothing that the end needs.',
  },
  {
    id: 'M57',
    what: 'a commit carries a fresh ClientRequestToken with each attempt, or none',
    proof:
      'Its first action carries the claim’s guard and the nonce. A second application is refused by a row that is done and bears that nonce, which is resolved as applied.',
  },
  {
    id: 'M26',
    what: 'deleting an entry deletes its counter',
    proof:
      'A counter that is missing is seeded from the taker’s clock, which is above every token given out before: one item takes at most a thousand writes a second. ' +
      'It rests on clocks being right to within the age of the row, so the row keeps its counter all the same.',
  },
  {
    id: 'M19',
    what: 'a late renewal moves the expiry backwards',
    proof:
      'There is one renewal under way at a time, and each names the nonce of the one before: a late one is refused by whatever came after it. ' +
      'Without that nonce it is M16.',
  },
  {
    id: 'M38',
    what: 'stepping down clears leadership here while a renewal is in flight',
    proof:
      'Leadership is a lock: its release names its own counter, and a renewal is the session’s and names no leadership.',
  },
  {
    id: 'M62',
    what: 'a dead letter is moved and its state changed in two writes',
    proof:
      'There is no move: a dead task is the same row in another state, listed by two attributes of the same write.',
  },
  {
    id: 'M17',
    what: 'a renewal may create the row',
    proof:
      'Its guard compares attributes of the row (`live`, the nonce), which a row that is not there fails; a session row is swept thirty days after its last use.',
  },
];
