/**
 * Live workers of a queue: the sessions of its workers, deployed or started by hand.
 * Only deployed workers hold a permit, so permits alone would miss workers of `leasehold work`.
 */
import type { SemaphoreState } from '../../coordination/semaphore/state.ts';
import type { SessionRecord } from '../../session/session-record.ts';
import { judgeSession } from '../../session/session-record.ts';
import type { SessionStore } from '../../session/session-store.ts';

/** Returns the name of a queue's worker sessions. */
export function workerName(queue: string): string {
  return `worker/${queue}`;
}

/** Sessions that hold a permit of the queue; a damaged one may be alive. */
export function permitHolders(permits: SemaphoreState | undefined): readonly string[] {
  const holders = permits?.holders ?? [];
  return holders.flatMap(({ session, standing }) => (standing === 'live' || standing === 'damaged' ? [session] : []));
}

/** Returns live sessions, and expired ones without a recorded end: at most a hundred, half a read unit for the list. */
export async function listedWorkers(sessions: SessionStore, queue: string): Promise<readonly string[]> {
  const { ids } = await sessions.page(`${workerName(queue)}#`, undefined);
  return ids;
}

/**
 * Ids of the live ones, one read unit for each that is listed; a damaged one counts as live.
 * @param holders sessions that are known to live
 */
export async function liveWorkers(
  sessions: SessionStore,
  queue: string,
  holders: Iterable<string>,
  { now, maxClockSkewMs }: { readonly now: number; readonly maxClockSkewMs: number },
): Promise<ReadonlySet<string>> {
  const live = new Set(holders);
  const unknown = (await listedWorkers(sessions, queue)).filter((id) => !live.has(id));
  const isLive = (session: SessionRecord): boolean =>
    session.name === workerName(queue) && judgeSession(session, now, maxClockSkewMs).kind === 'live';
  const found = await sessions.getMany(unknown, (id) => void live.add(id));
  for (const [id, session] of found) if (isLive(session)) live.add(id);
  return live;
}
