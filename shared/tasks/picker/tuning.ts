/**
 * The numbers of the task picker, each with the bench or test that set it.
 *
 * Poll rates come from one rule (`poll-schedule.ts`) and the worker's settings `pollMs` and `idlePollMs`.
 * Lint forbids numbers other than 0, 1 and 2 in the other files of this folder. Seventeen numbers are free; the others follow from them.
 */

/** Entries of one index query, and rows of one batch read: 50 keys of about 130 bytes are one read unit. Set by `bench scale`. */
export const PAGE_ENTRIES = 50;
/** Maximum index queries of one poll while other workers hold all tasks found. Set by `groups.test.ts`. */
export const PAGES_PER_POLL = 4;
/** Consecutive polls without anything to try before waiting slots rest. Set by `groups.test.ts`. */
export const POLLS_PER_REFILL = 40;
/**
 * Rows older than this are read again before a task is tried, because other workers may have taken it:
 * a read costs a twentieth of a refused claim. Set by `bench scale`, refused claims.
 */
export const FRESH_MS = 400;
/** Minimum time between two polls of the schedule. Set by `bench start --lag 50`, beside a live worker. */
export const MIN_POLL_GAP_MS = 50;
/** One round of polls takes this part of the time between two finds. Set by `bench idle` and `bench start`, without announcements. */
export const ROUNDS_PER_FIND = 16;
/** Finds closer together than this count as one. Set by `bench idle`, one task of 20 s. */
export const DISTINCT_FIND_MS = 500;
/** A long-lived worker polls at its idle rate when it has found nothing for this long. Set by `bench idle`, first minute. */
export const IDLE_AFTER_MS = 60_000;
/** All lanes that the queue's row does not name are polled once in this time, twice that if a dispatcher has noted lanes. */
export const UNUSED_LANES_MS = 2 * IDLE_AFTER_MS;
/**
 * Where no tick lists lanes, a worker polls for the first task with a key or tenant so often, beside plain tasks of the same priority. Set
 * by `bench idle`.
 */
export const BESIDE_PLAIN_MS = IDLE_AFTER_MS / 2;
/** Age at which the remaining entries of a page are dropped. Set by `bench scale`. */
export const PAGE_MAX_AGE_MS = 30_000;
/** A running task is read again after this time, or after half of its running time. Set by the tests of takeovers. */
export const HELD_RECHECK_MS = 2_000;
/** A task that this worker does not define, or ends too soon for, is read again after this time. */
export const UNFIT_RECHECK_MS = IDLE_AFTER_MS;
/**
 * A key that was seen full counts as full for `oneSlot` divided by its limit, but at least for `least`.
 * If it has been idle for longer, it counts as full for a `standing`th of its idle time, but at most for `most`.
 * When one of its tasks ends, the rows of its first `ahead` waiting tasks are read, or of as many as its limit.
 * Set by `bench keys`.
 */
export const FULL_KEY = { oneSlot: 500, least: 200, most: 30_000, standing: 4, ahead: 10 };
/** Concurrent writes that move tasks of a full key to the others of the key. */
export const JOINS_AT_ONCE = 16;
/** How long a worker stays for the next task of a key after one of the key's tasks has ended here. Set by `bench keys --limits 100`. */
export const STAY_FOR_KEY_MS = 5_000;
/** A worker that loses more than one of so many claims to others chooses a slice. Set by `npm run simulate -- --profile stays`, CROWD. */
export const CLAIMS_PER_LOSS = 8;
/**
 * A partition of groups whose round has found nothing in more pages than a few is polled later, by so much for each page more, but at least
 * once a heartbeat. Set by `bench stuck --keys 2000`.
 */
export const FREE_PAGES = 2;
export const REST_PER_PAGE_MS = 500;
/** Half a read unit of entries, for one scan for abandoned tasks. */
export const SCAN_ENTRIES = PAGE_ENTRIES / 2;
/**
 * How little a worker takes from foreign shards. The number is used three times: rows per read of a partition with more tasks than its own
 * workers take; the oldest entries from which a scan chooses one; and partitions polled before the worker exits. Set by `bench scale` and
 * the tests of fleets.
 */
export const FOREIGN_SAMPLE = 4;
