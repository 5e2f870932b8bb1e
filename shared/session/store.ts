import type { Outcome, WriteLimits } from '../lease/outcome.ts';
import type { CheckRecord } from './health.ts';
import type { InvalidationReason, InvalidSession, LiveSession, SessionBehavior, SessionRecord } from './record.ts';

export interface NewSession {
  readonly id: string;
  readonly name: string;
  readonly node: string;
  readonly ttlMs: number | null;
  readonly lockDelayMs: number;
  readonly behaviour: SessionBehavior;
  /** Checks of its node that it is bound to. */
  readonly checks?: readonly string[] | undefined;
  /** Renewed by its id. */
  readonly remote?: boolean | undefined;
  /** Wall clock before sending; `expiresAt` is this plus the TTL. */
  readonly now: number;
  readonly nonce: string;
}

export interface SessionRenewal {
  readonly id: string;
  /** `null`: it has no TTL, and is renewed only to shorten what was taken away from it. */
  readonly ttlMs: number | null;
  /** Nonce of the renewal, or the creation, that this one follows. */
  readonly lastNonce: string;
  /** How many revocations the row listed that this renewal follows: its holder knows of them now, and they leave the row. */
  readonly told: number;
  readonly now: number;
  readonly nonce: string;
}

/** What one session asks of the store: its holder, and those who contend with it. */
export interface HolderSessionStore {
  /** Refused when the id is taken. */
  create(session: NewSession, limits?: WriteLimits): Promise<Outcome<LiveSession, SessionRecord>>;
  /** Refused unless live, unexpired at `now`, and last written with `lastNonce`. */
  renew(renewal: SessionRenewal, limits?: WriteLimits): Promise<Outcome<LiveSession, SessionRecord>>;
  /** By a contender: refused unless it is still live, with the observed renewals, and expired before `expiredBefore`. */
  expire(
    expiry: {
      readonly observed: LiveSession;
      readonly expiredBefore: number;
      readonly now: number;
      readonly nonce: string;
    },
    limits?: WriteLimits,
  ): Promise<Outcome<InvalidSession, SessionRecord>>;
  /** By its holder (`ended`), an operator (`destroyed`) or a failed check: refused unless live. */
  invalidate(
    invalidation: {
      readonly id: string;
      readonly reason: Exclude<InvalidationReason, 'expired'>;
      readonly now: number;
      readonly nonce: string;
    },
    limits?: WriteLimits,
  ): Promise<Outcome<InvalidSession, SessionRecord>>;
  /** Strongly consistent. */
  get(id: string): Promise<SessionRecord | undefined>;
  /** Checks of one node by id, strongly consistent; those without a row are absent from the map. */
  getChecks(node: string, ids: readonly string[]): Promise<ReadonlyMap<string, CheckRecord>>;
}

/** Where sessions live. Every write is conditional; see `dynamo/session/statements.ts` for the guards. */
export interface SessionStore extends HolderSessionStore {
  /** Renews a remote session, by its id alone: refused unless live, remote, unexpired, and not renewed later already. */
  renewRemote(
    renewal: { readonly id: string; readonly expiredBefore: number; readonly now: number; readonly nonce: string },
    limits?: WriteLimits,
  ): Promise<Outcome<LiveSession, SessionRecord>>;
  /**
   * Strongly consistent; ids without a row are absent from the map, and so are those whose rows are damaged: `onDamaged` is told of these,
   * for they must not be taken for gone. Without it they are thrown.
   */
  getMany(
    ids: readonly string[],
    onDamaged?: (id: string, error: unknown) => void,
  ): Promise<ReadonlyMap<string, SessionRecord>>;
  /** A page of the ids of the sessions whose name begins with `prefix`, in order of name. Eventually consistent. */
  page(prefix: string, after: unknown): Promise<{ readonly ids: readonly string[]; readonly next: unknown }>;
}
