import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import type { Outcome, WriteLimits, Stamp } from '../../core/lease/write.ts';
import type { Closing, SessionBehavior, SessionRecord } from '../../session/session-record.ts';
import type { Content, FreeLock, HeldLock, LockClaim, LockRecord } from './lock-record.ts';

type KeyRefusal = Pick<Extract<Outcome<never>, { kind: 'refused' }>, 'kind' | 'earlierAttempt'>;

export interface AcquireRequest {
  readonly key: string;
  readonly session: string;
  /** If undefined, the stored content stays. */
  readonly content: Content | undefined;
  /** Whether the key gets an entry in the listing. An existing entry stays. */
  readonly isListed: boolean;
  /** The contender's clock minus the clock bound. A key whose `notBefore` is later is closed. */
  readonly openBefore: number;
  /** The observed counter of the free row. Absent: not observed, so a key that was freed after `openBefore` is refused. */
  readonly observedCounter?: number | undefined;
}

/** The content that an acquire writes in addition to the holder. */
export type LockWish = Pick<AcquireRequest, 'content' | 'isListed'>;

/** An acquire without a response. The key was free when it was read. */
export interface PendingAcquire {
  readonly key: string;
  readonly observed: FreeLock | undefined;
  /** When the last such acquire was requested, by the requesting clock. */
  readonly notBeforeAsked: number;
}

/** The fate of a key whose session has expired. */
export interface Disposition {
  readonly behaviour: SessionBehavior;
  readonly notBefore: number;
}

/** The key's state after a release. */
export interface Release {
  readonly content: Content | undefined;
  readonly sweepable: boolean;
  /** Whether the row must be as it was observed. */
  readonly isExact?: boolean;
  /** If it is not the holder who releases. */
  readonly closing?: Closing | undefined;
}

/** The end of a revoked tenure. The lock-delay counts from the applied attempt. */
export interface Taking extends Closing {
  /** Whether its session is live. If so, the session learns of it at its next heartbeat. */
  readonly tell: boolean;
}

/** A tenure that an operator ends. */
export interface ForceRequest extends Taking {
  readonly by: string;
  readonly reason: string;
  /** The holder's session has the behavior `delete`: the entry goes with the tenure. */
  readonly isDeleting: boolean;
}

/** One of several keys that are acquired together, as it was read. */
export interface Observed {
  readonly key: string;
  readonly record: LockRecord | undefined;
  /** Whether its entry belonged to an expired session with the behavior `delete`, so the new tenure starts without it. */
  readonly isFresh: boolean;
}

/** One key's part of a transaction. */
export type KeyWrite =
  | { readonly kind: 'put'; readonly key: string; readonly observed: LockRecord | undefined; readonly content: Content }
  | { readonly kind: 'take'; readonly observed: Observed; readonly session: string; readonly content: Content }
  | { readonly kind: 'leave'; readonly observed: HeldLock; readonly content: Content }
  | { readonly kind: 'remove'; readonly observed: LockRecord };

/** Conditions on other rows in a transaction. */
export interface KeyConditions {
  readonly unchanged: readonly LockRecord[];
  /** Keys without a row. */
  readonly absent: readonly string[];
  /** Sessions. */
  readonly live: readonly string[];
}

/** By live session: its tenures that the transaction takes away. The session learns of this at its next heartbeat. */
export type EndedTenures = ReadonlyMap<string, { readonly tenures: readonly HeldLock[]; readonly closing: Closing }>;

/** The holder no longer needs the row, so the response omits it. */
type Released = { readonly kind: 'applied' } | Extract<Outcome<never, LockRecord>, { kind: 'refused' }>;

/** An action for the user's transaction. */
export type TransactionAction = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

/** Stores locks. Every write is conditional; see `coordination/lock/row/lock-statements.ts` for the guards. */
export interface LockStore {
  /** Refused if the key has a holder, is closed, or was freed so recently that it must be observed first. */
  acquire(request: AcquireRequest, write: Stamp, limits?: WriteLimits): Promise<Outcome<HeldLock, LockRecord>>;
  /** Takes the key from an expired session whose lock-delay is over. Refused unless it is still held as observed. */
  takeOver(
    observed: HeldLock,
    request: AcquireRequest,
    options: { readonly isFresh: boolean },
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<HeldLock, LockRecord>>;
  /** Acquires all keys in one transaction: refused unless every row is as it was observed. */
  acquireAll(
    observed: readonly Observed[],
    request: Omit<AcquireRequest, 'key'>,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<{ readonly kind: 'applied' } | KeyRefusal>;
  /**
   * Takes the key from a session that may hold it unknowingly after a lost response:
   * frees it, and increments the counter. Refused unless it is still held as observed.
   */
  disown(
    observed: HeldLock,
    late: Pick<PendingAcquire, 'notBeforeAsked'>,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<FreeLock, LockRecord>>;
  /**
   * Bars an acquire of a free key that had no response and may still be in flight:
   * that acquire will be refused. This write is refused unless the row is as observed.
   */
  barLate(late: PendingAcquire, write: Stamp, limits?: WriteLimits): Promise<Outcome<FreeLock, LockRecord>>;
  /** For the holder: replaces the content, or only confirms the tenure. Refused if the row was written since it was observed. */
  update(
    observed: HeldLock,
    content: Content | undefined,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<HeldLock, LockRecord>>;
  /** For the holder: releases the key. `sweepable`: it has no value, so TTL may delete its unused row. Refused if it has a value by now. */
  release(
    observed: HeldLock,
    options: { readonly content: Content | undefined; readonly sweepable: boolean },
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Released>;
  /** Records the state of a key after its session has expired. Refused unless it is still held as observed. */
  settle(
    observed: HeldLock,
    disposition: Disposition,
    sweepable: boolean,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<FreeLock, LockRecord>>;
  /**
   * For operators: force-releases a key. Refused unless the key is held as observed. A live session learns of it at its next heartbeat.
   * @returns the time at which the key opens, by the clock of the applied attempt; 0 if it was acquired since
   */
  forceRelease(
    observed: HeldLock,
    force: ForceRequest,
    write: Stamp,
  ): Promise<{ readonly kind: 'applied'; readonly notBefore: number } | KeyRefusal>;

  /** Writes the content without a lock, even if the key is held. Refused unless the row is as observed. */
  put(key: string, observed: LockRecord | undefined, content: Content, write: Stamp): Promise<Outcome<LockRecord>>;
  /**
   * Removes the entry. Refused unless the row is as observed. The counter stays.
   * @param taking how the tenure of a held key ends
   * @returns the time at which the key opens, by the clock of the applied attempt; 0 if it is open
   */
  remove(
    observed: LockRecord,
    taking: Taking,
    write: Stamp,
  ): Promise<{ readonly kind: 'applied'; readonly notBefore: number } | KeyRefusal>;

  /**
   * Commits several keys in one transaction, or one key alone. Refused unless every row is as observed,
   * every condition holds, and every notified session is live.
   */
  commit(
    writes: readonly KeyWrite[],
    conditions: KeyConditions,
    ended: EndedTenures,
    write: Stamp,
  ): Promise<{ readonly kind: 'applied' } | KeyRefusal>;

  /** Strongly consistent. */
  get(key: string): Promise<LockRecord | undefined>;
  /**
   * Strongly consistent by default. The map omits keys without a row,
   * and keys with a damaged row if `onDamaged` is given; without it they are thrown.
   */
  getMany(
    keys: readonly string[],
    options?: { readonly consistent?: boolean; readonly onDamaged?: ((error: unknown) => void) | undefined },
  ): Promise<ReadonlyMap<string, LockRecord>>;
  /** Reads a lock, and the session if one is named, in one request. */
  getWithSession(
    key: string,
    session: string | undefined,
    options: { readonly consistent: boolean },
  ): Promise<{ readonly lock: LockRecord | undefined; readonly session: SessionRecord | undefined }>;
  /** A page of the keys that begin with `prefix`, in order. Eventually consistent. */
  page(prefix: string, after: unknown): Promise<{ readonly keys: readonly string[]; readonly next: unknown }>;
  /** Whether the listing names the key. Eventually consistent. */
  isListed(key: string): Promise<boolean>;

  /** A condition for the user's own transaction, which fails unless the tenure is current. */
  condition(claim: LockClaim): TransactionAction;
}

/** Only the operations of a key's holder, so that bundles of clients that only lock stay small. */
export type HolderLockStore = Pick<
  LockStore,
  | ('acquire' | 'takeOver' | 'disown' | 'barLate' | 'update' | 'release' | 'settle')
  | ('get' | 'getWithSession' | 'condition')
>;
