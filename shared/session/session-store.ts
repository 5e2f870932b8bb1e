import type { Outcome, WriteLimits, Stamp } from '../core/lease/write.ts';
import type { InvalidationReason, InvalidSession, LiveSession, SessionRecord } from './session-record.ts';

/** The wall clock before sending. The session expires at `now` plus its TTL. */
export interface NewSession
  extends
    Pick<
      LiveSession,
      'id' | 'name' | 'node' | 'codeVersion' | 'ttlMs' | 'lockDelayMs' | 'behaviour' | 'remote' | 'consul'
    >,
    Stamp {
  /** False: the directory does not list it, which saves a unit at its begin and its end. */
  readonly listed?: boolean | undefined;
}

export interface SessionRenewal extends Stamp {
  readonly id: string;
  /** `null`: it has no TTL, and is renewed only to remove revocations from the row. */
  readonly ttlMs: number | null;
  /** Nonce of the renewal, or the creation, that this one follows. */
  readonly lastNonce: string;
  /** Number of revocations in the row after the previous renewal. Its holder knows these, so this renewal removes them. */
  readonly knownRevocations: number;
}

export interface RemoteRenewal extends Stamp {
  readonly id: string;
  readonly expiredBefore: number;
}

export interface SessionExpiry extends Stamp {
  readonly observed: Pick<LiveSession, 'id' | 'renewals'>;
  readonly expiredBefore: number;
}

/** Ends the session, for its holder (`ended`) or an operator (`destroyed`). */
export interface Invalidation extends Stamp {
  readonly id: string;
  readonly reason: Exclude<InvalidationReason, 'expired'>;
  /** How long its keys stay closed, if an operator chose that. Absent: for its lock-delay, and as long as its holder may trust it. */
  readonly lockDelayMs?: number | undefined;
}

/** The store's operations for one session, used by its holder and its contenders. */
export interface HolderSessionStore {
  /** Refused when the id is taken. */
  create(session: NewSession, limits?: WriteLimits): Promise<Outcome<LiveSession, SessionRecord>>;
  /** Refused unless live, unexpired at `now`, and last written with `lastNonce`. */
  renew(renewal: SessionRenewal, limits?: WriteLimits): Promise<Outcome<LiveSession, SessionRecord>>;
  /** For contenders: refused unless it is still live, with the observed renewals, and expired before `expiredBefore`. */
  expire(expiry: SessionExpiry): Promise<Outcome<InvalidSession, SessionRecord>>;
  /** Refused unless live. */
  invalidate(invalidation: Invalidation): Promise<Outcome<InvalidSession, SessionRecord>>;
  /** Strongly consistent. */
  get(id: string): Promise<SessionRecord | undefined>;
}

/** Stores sessions. Every write is conditional; see `session/row/session-statements.ts` for the guards. */
export interface SessionStore extends HolderSessionStore {
  /** Renews a remote session by its id alone. Refused unless it is live, remote and unexpired, and has no later renewal. */
  renewRemote(renewal: RemoteRenewal): Promise<Outcome<LiveSession, SessionRecord>>;
  /**
   * Strongly consistent. The map omits ids without a row and ids with a damaged row. Pass `onDamaged` to learn of the latter,
   * because they must not count as gone; without it they are thrown.
   */
  getMany(
    ids: readonly string[],
    onDamaged?: (id: string, error: unknown) => void,
  ): Promise<ReadonlyMap<string, SessionRecord>>;
  /**
   * A page of the sessions whose name begins with `prefix`, in order of name: their ids, and their names in the same order. Eventually
   * consistent.
   */
  page(
    prefix: string,
    after: unknown,
  ): Promise<{ readonly ids: readonly string[]; readonly names: readonly string[]; readonly next: unknown }>;
}
