/** The verdict on a held key. Judges its holder's session, and ends it if it has expired. */
import { CorruptItemError } from '../../core/errors.ts';
import type { ContenderPorts, SessionPorts } from '../../session/session-contender.ts';
import { settleSession } from '../../session/session-contender.ts';
import type { SessionRecord } from '../../session/session-record.ts';
import type { HeldLock, Holder } from './lock-record.ts';
import type { Disposition, HolderLockStore, LockStore } from './lock-store.ts';

/** Requirements for holding keys. */
export interface HolderPorts extends ContenderPorts {
  readonly locks: HolderLockStore;
}

export interface LockPorts extends SessionPorts {
  readonly locks: LockStore;
}

export type LockVerdict =
  | { readonly kind: 'held'; readonly by: Holder }
  /** Its session has expired. `openAt`: when this contender may take over (0: at once). */
  | { readonly kind: 'abandoned'; readonly openAt: number; readonly disposition: Disposition };

/**
 * @param session the holder's session, as just read
 * @throws ClockSkewError if our clock is proven too wrong to end a session
 * @throws CorruptItemError if its expiry is implausible: an operator must decide
 */
export async function lockVerdictOf(
  lock: HeldLock,
  session: SessionRecord | undefined,
  ports: ContenderPorts,
  maxClockSkewMs: number,
): Promise<LockVerdict> {
  const behaviour = session?.behaviour ?? 'release';
  const standing = await settleSession(session, ports, maxClockSkewMs);
  switch (standing.kind) {
    case 'live':
      return { kind: 'held', by: holderOf(lock, session, standing.until) };
    case 'closed': {
      const notBefore = standing.until - maxClockSkewMs;
      return { kind: 'abandoned', openAt: standing.until, disposition: { behaviour, notBefore } };
    }
    case 'free':
      return { kind: 'abandoned', openAt: 0, disposition: { behaviour, notBefore: 0 } };
    case 'damaged':
      throw new CorruptItemError(`session ${lock.session}`, 'expiresAt', 'lies further ahead than its TTL allows');
  }
}

export function holderOf(lock: HeldLock, session: SessionRecord | undefined, until: number | null): Holder {
  const { name, node } = session ?? { name: 'unknown', node: 'unknown' };
  const { session: id, leaseCounter, acquiredAt: since } = lock;
  return { session: id, leaseCounter, name, node, since, until };
}
