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

/** Sessions that hold a permit of the queue. A damaged session may be live. */
export function permitHolders(permits: SemaphoreState | undefined): readonly string[] {
  const holders = permits?.holders ?? [];
  return holders.flatMap(({ session, standing }) => (standing === 'live' || standing === 'damaged' ? [session] : []));
}

/**
 * Returns the ids of live sessions. A damaged session counts as live. Costs eight read units for the first hundred entries of the list,
 * and one for each session in it.
 * @param holders sessions that are known to live
 */
export async function liveWorkers(
  sessions: SessionStore,
  queue: string,
  holders: Iterable<string>,
  { now, maxClockSkewMs }: { readonly now: number; readonly maxClockSkewMs: number },
): Promise<ReadonlySet<string>> {
  const live = new Set(holders);
  const { ids } = await sessions.page(`${workerName(queue)}#`, undefined);
  const unknown = ids.filter((id) => !live.has(id));
  const isLive = (session: SessionRecord): boolean =>
    session.name === workerName(queue) && judgeSession(session, now, maxClockSkewMs).kind === 'live';
  const found = await sessions.getMany(unknown, (id) => void live.add(id));
  for (const [id, session] of found) if (isLive(session)) live.add(id);
  return live;
}
