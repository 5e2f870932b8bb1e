/**
 * Announcements: a waker tells live workers of tasks that were just inserted, and workers with free capacity poll for them.
 *
 * The index shows a task up to a second late, and a worker rarely polls an idle partition.
 * If a waker leaves a task to live workers, it writes the task's id into the queue's row,
 * which each of them reads every five seconds anyway.
 * If two announcements are less than `LISTENED_MS` apart, tasks arrive steadily:
 * then workers with free capacity read that row often, and the tasks' own rows at once.
 *
 * An announcement is a hint, and nothing depends on it.
 * If one is lost or late, the workers' normal polls find its tasks; a repeated one names tasks that are already known.
 * Every claim has its own guard.
 */
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import type { Announcement } from './queue-store.ts';

/** Beyond this the index is the cheaper list. The row stays below a kilobyte, which one write unit pays for. */
const LIMIT = { ids: 20, bytes: 600 };
/** Workers have seen an announcement by then: later ones need not repeat it. */
const REPEATED_MS = 1_000;
/** Normal polls have found announced tasks by then. */
const HEARD_MS = 2_000;
/** How long workers poll for announcements after one that followed another within the same time. */
const LISTENED_MS = 20_000;
/** Pause between announcement polls of one worker. Several workers share the rate, because otherwise they would try for the same task. */
const GLANCE_MS = 75;
const GLANCE_MOST_MS = 1_000;

/** Whether ids are few enough to be announced. */
export function isAnnounceable(ids: readonly string[]): boolean {
  return ids.length <= LIMIT.ids;
}

/**
 * Returns the announcement that follows `last`; undefined if `last` already names all ids.
 * It repeats the ids of a recent `last`, because a worker may not have seen that yet.
 */
export function nextAnnouncement(
  last: Announcement | undefined,
  ids: readonly string[],
  { workers, now }: { readonly workers: number; readonly now: number },
): Announcement | undefined {
  const repeated = last !== undefined && ageMs(last, now) < REPEATED_MS ? last.ids : [];
  const added = ids.filter((id) => !repeated.includes(id));
  if (added.length === 0) return undefined;
  const at = Math.max(now, (last?.at ?? 0) + 1);
  return { at, before: last?.at, ids: newestOf([...repeated, ...added]), workers };
}

/** The newest ids that fit. */
function newestOf(ids: readonly string[]): readonly string[] {
  let bytes = 0;
  const newest: string[] = [];
  for (const id of ids.slice(-LIMIT.ids).reverse()) {
    bytes += utf8Bytes(id);
    if (bytes > LIMIT.bytes) break;
    newest.unshift(id);
  }
  return newest;
}

/** Returns ids that `next` announces and `last` did not; none if they are too old to be useful. */
export function newsIn(next: Announcement, last: Announcement | undefined, now: number): readonly string[] {
  if (ageMs(next, now) >= HEARD_MS || (last !== undefined && next.at <= last.at)) return [];
  return next.ids.filter((id) => last?.ids.includes(id) !== true);
}

/**
 * Returns how long a worker with free capacity waits before its next announcement poll; undefined: it need not poll.
 * @param stays whether it is paid to wait for the next task: then it polls even without recent announcements
 */
export function glanceEveryMs(last: Announcement | undefined, now: number, stays = false): number | undefined {
  if (!stays && !isFlowing(last, now)) return undefined;
  return Math.min(GLANCE_MOST_MS, GLANCE_MS * Math.max(1, last?.workers ?? 1));
}

function isFlowing(last: Announcement | undefined, now: number): boolean {
  return last?.before !== undefined && last.at - last.before < LISTENED_MS && ageMs(last, now) < LISTENED_MS;
}

/** Absolute, because a waker's clock may be ahead of ours. */
function ageMs({ at }: Announcement, now: number): number {
  return Math.abs(now - at);
}
