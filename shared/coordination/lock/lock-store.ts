import type { TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import type { Outcome, WriteLimits } from '../../core/lease/outcome.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import type { SessionBehavior, SessionRecord } from '../../session/session-record.ts';
import type { KeyRefusal } from './contention.ts';
import type { Content, FreeLock, HeldLock, LockClaim, LockRecord } from './lock-record.ts';

export interface AcquireRequest {
  readonly key: string;
  readonly session: string;
  /** If undefined, the stored content stays. */
  readonly content: Content | undefined;
  /** Whether it gets an entry in the listing. One that it has stays. */
  readonly isListed: boolean;
  /** A key whose `notBefore` lies after this is closed: the contender's clock less the bound on clock differences. */
  readonly openBefore: number;
  /** The counter of the free row as it was observed; absent: not observed, and a key that was freed since `openBefore` is refused. */
  readonly observedCounter?: number | undefined;
}

/** What an acquire writes beside the right itself. */
export type LockWish = Pick<AcquireRequest, 'content' | 'isListed'>;

/** An acquire that was not answered, of a key that was free when it was read. */
export interface PendingAcquire {
  readonly key: string;
  readonly observed: FreeLock | undefined;
  /** When the last such acquire was asked for, by the clock that asked. */
  readonly notBeforeAsked: number;
}

/** The fate of a key whose session has expired. */
export interface Disposition {
  readonly behaviour: SessionBehavior;
  readonly notBefore: number;
}

/** A tenure that an operator ends. */
export interface ForceRequest {
  readonly by: string;
  readonly reason: string;
  /** How long the key is closed, from the attempt that is applied. */
  readonly lockDelayMs: number;
  /** Its session is live, and learns of it with its next heartbeat. */
  readonly tell: boolean;
}

/** One key of several that are acquired together, as it was read. */
export interface Observed {
  readonly key: string;
  readonly record: LockRecord | undefined;
  /** Its entry belonged to a dead session with behaviour `delete`: the new tenure starts without it. */
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

/** By session: tenures that a transaction ends under the hands of a live one, which learns of it with its next heartbeat. */
export type EndedTenures = ReadonlyMap<string, readonly HeldLock[]>;

/** Its holder has done with the row, which the answer therefore leaves out. */
type Released = { readonly kind: 'applied' } | Extract<Outcome<never, LockRecord>, { kind: 'refused' }>;

/** An action for the user's transaction. */
export type TransactionAction = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

/** Stores locks. Every write is conditional; see `coordination/lock/row/lock-statements.ts` for the guards. */
export interface LockStore {
  /** Refused when it has a holder, when it is closed, or when it was freed so lately that it must be observed first. */
  acquire(request: AcquireRequest, write: Stamp, limits?: WriteLimits): Promise<Outcome<HeldLock, LockRecord>>;
  /** From a dead session whose lock-delay is over: refused unless it is still held as observed. */
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
   * Bars an acquire of a free key that was not answered and may be under way still:
   * it will be refused. Refused unless the row is as it was observed.
   */
  barLate(late: PendingAcquire, write: Stamp, limits?: WriteLimits): Promise<Outcome<FreeLock, LockRecord>>;
  /** By its holder: replaces the content, or just confirms the tenure. Refused when anything was written since it was observed. */
  update(
    observed: HeldLock,
    content: Content | undefined,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<HeldLock, LockRecord>>;
  /** By its holder. `sweepable`: it has no value, so its row may be swept once it is out of use; refused when that is no longer so. */
  release(
    observed: HeldLock,
    options: { readonly content: Content | undefined; readonly sweepable: boolean },
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Released>;
  /** Writes down what became of a key whose session is dead: refused unless it is still held as observed. */
  settle(
    observed: HeldLock,
    disposition: Disposition,
    sweepable: boolean,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<FreeLock, LockRecord>>;
  /**
   * By an operator: refused unless the key is held as observed. A live session learns of it at its next heartbeat.
   * @returns the time at which the key opens, by the clock of the applied attempt; 0 if it was acquired since
   */
  forceRelease(
    observed: HeldLock,
    force: ForceRequest,
    write: Stamp,
  ): Promise<{ readonly kind: 'applied'; readonly notBefore: number } | { readonly kind: 'refused' }>;

  /** Without a lock, whether it has a holder or not: refused unless the row is as it was observed. */
  put(key: string, observed: LockRecord | undefined, content: Content, write: Stamp): Promise<Outcome<LockRecord>>;
  /**
   * Removes the entry, and with it its holder's tenure: refused unless the row is as it was observed. The counter stays.
   * `tell`: the holder's session is live, and learns of it with its next heartbeat.
   */
  remove(
    observed: LockRecord,
    options: { readonly tell: boolean },
    write: Stamp,
  ): Promise<{ readonly kind: 'applied' } | KeyRefusal>;

  /**
   * Commits several keys in one transaction: refused unless every row is as it was observed,
   * every condition holds, and every notified session is live.
   */
  commit(
    writes: readonly KeyWrite[],
    conditions: KeyConditions,
    ended: EndedTenures,
    write: Stamp,
  ): Promise<'applied' | 'refused'>;

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
  /** A lock, and a session if one is named, in one request. */
  getWithSession(
    key: string,
    session: string | undefined,
    options: { readonly consistent: boolean },
  ): Promise<{ readonly lock: LockRecord | undefined; readonly session: SessionRecord | undefined }>;
  /** A page of the keys that begin with `prefix`, in order. Eventually consistent. */
  page(prefix: string, after: unknown): Promise<{ readonly keys: readonly string[]; readonly next: unknown }>;
  /** Whether the listing names the key. Eventually consistent. */
  isListed(key: string): Promise<boolean>;

  /** For the user's own transaction: it fails unless the tenure is current. */
  condition(claim: LockClaim): TransactionAction;
}

/** The operations of a key's holder only, so that clients that only lock stay small. */
export type HolderLockStore = Pick<
  LockStore,
  | ('acquire' | 'takeOver' | 'disown' | 'barLate' | 'update' | 'release' | 'settle')
  | ('get' | 'getWithSession' | 'condition')
>;
