/**
 * How a waker tells the workers that are there of tasks that were just inserted, and how often a worker with a free place asks.
 *
 * The index shows a task up to a second late, and a worker asks an idle partition seldom.
 * A waker that leaves a task to the workers that are there writes its id into the queue's row,
 * which each of them reads every five seconds anyway.
 * Where two announcements lie no further apart than `LISTENED_MS`, tasks come one after the other:
 * then workers with a free place read that row often, and the tasks' own rows at once.
 *
 * An announcement is a hint, and nothing depends on it.
 * One that is lost or late leaves its tasks to the workers' looks; one that is doubled names tasks that are known already.
 * Every claim has its own guard.
 */
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import type { Announcement } from './queue-store.ts';

/** Beyond this the index is the cheaper list. The row stays below a kilobyte, which one write unit pays for. */
const LIMIT = { ids: 20, bytes: 600 };
/** Workers have seen it by then: later announcements need not repeat it. */
const REPEATED_MS = 1_000;
/** What was announced so long ago has been found by looks. */
const HEARD_MS = 2_000;
/** Workers listen for so long after an announcement that followed another as closely. */
const LISTENED_MS = 20_000;
/** Between glances of one worker; several share them, for else they would try for the same task. */
const GLANCE_MS = 75;
const GLANCE_MOST_MS = 1_000;

/** Whether ids are few enough to be announced. */
export function isAnnounceable(ids: readonly string[]): boolean {
  return ids.length <= LIMIT.ids;
}

/**
 * The announcement that follows `last`; undefined when that says all of it.
 * It repeats what `last` has said a moment ago, for a worker may not have seen that yet.
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

/** The last of them that there is room for. */
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

/** Ids that `next` announces and `last` did not; none when they are of no use any more. */
export function newsIn(next: Announcement, last: Announcement | undefined, now: number): readonly string[] {
  if (ageMs(next, now) >= HEARD_MS || (last !== undefined && next.at <= last.at)) return [];
  return next.ids.filter((id) => last?.ids.includes(id) !== true);
}

/**
 * How long a worker with a free place waits before it glances at the row again; undefined: it need not.
 * @param stays whether it is paid to wait for the next task: then it listens whether or not others were announced
 */
export function glanceEveryMs(last: Announcement | undefined, now: number, stays = false): number | undefined {
  if (!stays && !isFlowing(last, now)) return undefined;
  return Math.min(GLANCE_MOST_MS, GLANCE_MS * Math.max(1, last?.workers ?? 1));
}

function isFlowing(last: Announcement | undefined, now: number): boolean {
  return last?.before !== undefined && last.at - last.before < LISTENED_MS && ageMs(last, now) < LISTENED_MS;
}

/** Clocks of wakers may be ahead of ours. */
function ageMs({ at }: Announcement, now: number): number {
  return Math.abs(now - at);
}
