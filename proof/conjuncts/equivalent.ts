/** Mutants that cannot be killed, with the reason; and mutants that are covered elsewhere, with the place. */
import type { Equivalent } from '../mutants/mutation.ts';

/**
 * Mutants that no history shows, or one in ten thousand,
 * because no world of the simulation has what they need; and the test that kills each.
 */
export const KILLED_ELSEWHERE: readonly { readonly id: string; readonly what: string; readonly by: string }[] = [
  {
    id: 'M6',
    what: 'the expiry test is written as NOT (expiresAt > :now), which is true of a session without TTL',
    by: 'test/conformance/session.test.ts: refuses to end a session whose row has no expiry',
  },
  {
    id: 'M32',
    what: 'an expiry far in the future is waited for',
    by: 'test/conformance/session.test.ts: treats an implausible expiry as damage: it is neither waited for nor taken over',
  },
  {
    id: 'M59',
    what: 'a worker is started for each tick, however many are at work',
    by: 'test/unit/tasks/dispatch/dispatcher.test.ts: starts the difference to the workers that live',
  },
  {
    id: 'N3',
    what: 'nothing is ever adopted: a claim that is applied after its key was found full is left to itself',
    by: 'test/unit/tasks/worker/undecided-claim.test.ts: adopts a claim that the network delivers again after its key has capacity',
  },
  {
    id: 'N29',
    what: 'a claim that is not answered is not decided',
    by: 'test/unit/tasks/worker/undecided-claim.test.ts: runs its task once its row answers again',
  },
  {
    id: 'N49',
    what: 'a worker that was told to go before it began goes on claiming and handing back',
    by: 'test/unit/client/long-lived-worker.test.ts: exits without a claim if stopped before it began',
  },
  {
    id: 'X18',
    what: 'a look that failed leaves its other reads behind (found by the simulation)',
    by: 'test/unit/core/runtime/all-of.test.ts: throws the first error, after all have ended',
  },
  {
    id: 'X77',
    what: 'each attempt of a forced release states the time of the first',
    by: 'test/unit/operate/forced-stamp.test.ts: closes its key for the lock-delay from the applied attempt, and reports it',
  },
  {
    id: 'X78',
    what: 'a forced release is not recognised by what it wrote down, once the key was acquired since',
    by: 'test/unit/operate/forced-stamp.test.ts: is known to be, although the answer was lost and the key was acquired before the next attempt',
  },
  {
    id: 'X82',
    what: 'an item is suspected of a death before its pack was retried (found by the simulation)',
    by: 'test/unit/tasks/bulk/suspect.test.ts: is no longer suspected after its pack was cancelled and retried',
  },
  { id: 'M60', what: 'the parts of keys are joined without being escaped', by: 'test/unit/dynamo/engine/keys.test.ts' },
  {
    id: 'X57',
    what: 'a late attempt to cancel, or to expire, meets other work under the id',
    by: 'test/conformance/task/operations.test.ts: does not affect other work that reuses the id',
  },
  {
    id: 'X58',
    what: 'a claim takes other work than what was observed',
    by: 'test/conformance/task/identity.test.ts: work that replaced what a worker saw is not claimed for that',
  },
  {
    id: 'X59',
    what: 'one request names a row twice, because the index shows a task where it was and where it is',
    by: 'test/unit/dynamo/engine/batches.test.ts: a row that is named twice is read once',
  },
  {
    id: 'X60',
    what: 'a permit falls over when its session was lost in the moment in which it was handed over',
    by: 'test/unit/coordination/semaphore/handover.test.ts: hands over a permit as lost if its session is lost at the same moment',
  },
  {
    id: 'X61',
    what: 'a sender who wakes behind its time sends all the same',
    by: 'test/unit/dynamo/engine/send.test.ts: a process that was frozen between two attempts sends nothing when it wakes behind its time',
  },
  {
    id: 'X75',
    what: 'the end of a task that the store could not decide is given up, and its task runs for as long as its worker',
    by: 'test/unit/tasks/task/undecided-end.test.ts: writes an end that the row refused as soon as the row recovers',
  },
  {
    id: 'X76',
    what: 'a task that never fits into its worker’s life is handed back for ever',
    by: 'test/unit/tasks/task/stalled.test.ts: are dead after five lives without progress',
  },
  {
    id: 'N7',
    what: 'an eviction opens its room by the clock alone, without the bound on clock differences',
    by: 'test/conformance/semaphore-operation.test.ts: keeps the room closed for the lock-delay',
  },
  {
    id: 'N8',
    what: 'a member is lost whatever session it is leased to now',
    by: 'test/conformance/waitgroup.test.ts: is not lost with the session that it was leased to before',
  },
  {
    id: 'N9',
    what: 'a line is closed without asking whether it has grown since',
    by: 'test/unit/tasks/task/left-behind.test.ts: calls a task that joins its line while the last task before it ends',
  },
  {
    id: 'N11',
    what: 'an acquire without a response leaves its key resolved',
    by: 'test/unit/coordination/lock/lost-answer.test.ts: unknown, and frees the key within two heartbeats',
  },
  {
    id: 'N13',
    what: 'permits that a lost answer left behind stay with their session',
    by: 'test/unit/coordination/semaphore/lost-answer.test.ts: unknown, and frees the capacity within two heartbeats',
  },
  {
    id: 'N14',
    what: 'a place in a queue that a lost answer left behind stays',
    by: 'test/unit/coordination/semaphore/lost-answer.test.ts: takes no queue position after its contender gave up',
  },
  {
    id: 'N25',
    what: 'callers of one session are let in side by side',
    by: 'test/unit/coordination/lock/one-session.test.ts: is given to one caller at a time, in order of arrival, each with a larger token',
  },
  {
    id: 'N6',
    what: 'what was taken away from a session stays in its row',
    by: 'test/unit/session/revocations.test.ts: a thousand of them leave a renewal at one unit, and each is learnt',
  },
  {
    id: 'N27',
    what: 'an outage of the store costs the attempt whose commit it refused',
    by: 'test/unit/tasks/task/own-outage.test.ts: hands its task back, and costs no attempt',
  },
  {
    id: 'N28',
    what: 'a blocked event loop is taken for a store that does not answer',
    by: 'test/unit/session/blocked-loop.test.ts: reports a session lost to a blocked event loop, with the remedy',
  },
  {
    id: 'N26',
    what: 'a process whose clock is proven wrong opens sessions',
    by: 'test/unit/session/clock.test.ts: opens no session, and says why',
  },
];

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
