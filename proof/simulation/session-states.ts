/** The sessions in a table at a moment of true time: which are alive, and when others may take what the others held. */
import type { DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import { isSession } from './invariants/rule.ts';
import { EPOCH_MS } from './invariants/sessions.ts';
import type { Profile } from './profile.ts';

export interface SessionState {
  readonly name: string;
  readonly isAlive: boolean;
  /** True time after which other sessions may take its keys and its capacity. */
  readonly openAt: number;
}

/** By id. */
export function sessionsIn(
  rows: ReadonlyMap<string, DynamoItem>,
  now: number,
  { ttlMs, maxClockSkewMs }: Pick<Profile, 'ttlMs' | 'maxClockSkewMs'>,
): ReadonlyMap<string, SessionState> {
  const found = new Map<string, SessionState>();
  for (const [row, item] of rows) {
    if (!isSession(row)) continue;
    const expiresAt = Number(item.expiresAt) - EPOCH_MS;
    const isAlive = item.status === 'live' && expiresAt > now;
    // The lock-delay counts from the moment when a contender finds it expired, at the latest.
    const endedAt = item.status === 'live' ? expiresAt + maxClockSkewMs + ttlMs : Number(item.invalidatedAt) - EPOCH_MS;
    const delayedUntil = endedAt + Number(item.lockDelayMs ?? 0);
    // Ended by force, it is trusted until it would have expired.
    const isForced = item.reason === 'destroyed' || item.reason === 'check';
    const openAt = isForced ? Math.max(delayedUntil, expiresAt) : delayedUntil;
    found.set(String(item.id), { name: String(item.name), isAlive, openAt: openAt + maxClockSkewMs });
  }
  return found;
}

/** Whether what a session held is open to others. A row that is gone has been dead for weeks. */
export function isOpenAt(now: number, session: SessionState | undefined): boolean {
  return session === undefined || (!session.isAlive && session.openAt < now);
}
