/**
 * The numbers of the task picker, each with the bench or test that set it.
 *
 * Lint forbids numbers other than 0, 1 and 2 in the other files of this folder, so what follows from these numbers is computed here too.
 */

/** Entries of one index query, and the most rows of one batch read: 50 keys of about 130 bytes are one read unit. Set by `bench scale`. */
export const PAGE_ENTRIES = 50;
/** Rows older than this are read again before a task is tried, because others may have taken it. Set by `bench scale`, refused claims. */
export const FRESH_MS = 400;
/** A round of polls of all own partitions takes at least this long for each of them. Set by `bench start --lag 50`, live. */
export const MIN_POLL_GAP_MS = 40;
/** A worker that was started for due tasks polls each partition in this time, while indexes may lag. Set by `bench fanout`. */
export const START_MS = 2_000;
/** One round of polls of all own partitions takes this part of the time since the last find. Set by `bench start` and `bench idle`. */
export const ROUNDS_PER_FIND = 16;
/** A task that runs elsewhere, or that another worker was faster to claim, is read again after this time. Set by the tests of takeovers. */
export const HELD_RECHECK_MS = 2_000;
/** After a minute without a find, a worker polls at its idle rate. */
export const IDLE_AFTER_MS = 60_000;
/** The longest time for which a full key or a waiting line is left alone, and for which a page is kept. Set by `bench stuck`. */
export const LONGEST_BACKOFF_MS = IDLE_AFTER_MS / 2;
/** After so many pages in a row of which none is in its share, a worker tries twice as large a part. Set by the simulator, CREEP. */
export const BARREN_PAGES = 4;
/** A worker that loses more than one of so many claims to others tries a smaller part first. Set by `feel --scenes many`, and CROWD. */
export const CLAIMS_PER_LOSS = 8;

/** A worker that has found tasks only once is there for long ones, and polls so much more rarely. Set by `bench idle`, one task of 20 s. */
export const AFTER_FIRST_FIND = 4;
/** Where no tick looks for the first task with a tenant or an order: polls of plain tasks for each poll for it. Set by `bench idle`. */
export const PLAIN_PER_GROUP = 1.6;

/** Lanes that nobody names are polled once in this time, jittered. Set by the simulator, L10. */
export const UNUSED_EVERY_MS = 1.5 * IDLE_AFTER_MS;

/** How long to leave alone what has not changed for a while: a quarter of that while. */
export function backoffMs(unchangedMs: number): number {
  return Math.min(LONGEST_BACKOFF_MS, Math.max(FRESH_MS, unchangedMs / 4));
}

/** Up to a quarter earlier or later, so that workers that started together do not poll together. */
export function jittered(ms: number, random: { next(): number }): number {
  return ms * (3 / 4 + random.next() / 2);
}
