/**
 * `LockContender` makes one attempt to acquire a lock and reports what blocks it.
 *
 * Requests per attempt:
 *   - one if the key is free;
 *   - two if the key was freed within the clock bound, because clocks cannot order that release and the acquire (one if
 *     the contender has seen the key free, as waiters have);
 *   - two if the key is held, because we also read the holder's session;
 *   - four if the holder's session has expired but is still marked live: refused, read, end the session, take over.
 */
import { StoreUnavailableError } from '../../core/errors.ts';
import type { Outcome, WriteLimits } from '../../core/lease/write.ts';
import { ensureClockWithin } from '../../core/lease/skew.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { limitsWithinTrust } from '../../session/limits.ts';
import type { SessionRecord } from '../../session/session-record.ts';
import type { HeldLock, LockRecord, Refusal } from './lock-record.ts';
import { opensAt } from './lock-record.ts';
import type { UnresolvedKeys, UnansweredAcquire } from './unresolved-keys.ts';
import type { HolderPorts } from './lock-verdict.ts';
import { lockVerdictOf } from './lock-verdict.ts';
import type { AcquireRequest, LockWish } from './lock-store.ts';

export type ContendingSession = Pick<SessionHolder, 'id' | 'timing' | 'signal' | 'ensureTrusted' | 'remainingTrustMs'>;

export type Attempt<Right = HeldLock> = { readonly kind: 'acquired'; readonly right: Right } | Refusal;

/** Contends for one key or several, until it acquires them or gives up. */
export interface KeyContender<Right> {
  /** Key under which `WaiterQueue` queues the waiter. */
  readonly key: string;
  /**
   * Acquires, or returns the reason for the refusal.
   * @throws ClockSkewError if our clock is provably too wrong to take part
   * @throws LeaseLostError if our own session can no longer be trusted
   */
  attempt(): Promise<Attempt<Right>>;
  /** Checks whether an attempt is worth its cost. Returns undefined if it is. */
  read(): Promise<Refusal | undefined>;
}

/** A row whose session has ended, or is our own. The next write takes it over. */
interface Abandoned {
  readonly lock: HeldLock;
  readonly openAt: number;
  readonly isFresh: boolean;
}

/** Rounds of an attempt; each follows a lost race. A key that others keep winning is not free: waiting callers try again, after a pause. */
export const ATTEMPT_ROUNDS_LIMIT = 5;

export class LockContender implements KeyContender<HeldLock> {
  readonly key: string;
  readonly #wish: LockWish;
  readonly #session: ContendingSession;
  readonly #ports: HolderPorts;
  readonly #maxClockSkewMs: number;
  readonly #unresolvedKeys: UnresolvedKeys | undefined;
  #abandoned: Abandoned | undefined;
  /** Counter of the row when we last saw it free. */
  #observedCounter: number | undefined;
  /** Session that held the key at the last read. */
  #lastHolder: string | undefined;

  /** @param unresolved records acquires without a response; if absent, the caller resolves them itself */
  constructor(
    key: string,
    wish: LockWish,
    session: ContendingSession,
    ports: HolderPorts & { readonly unresolved?: UnresolvedKeys | undefined },
  ) {
    this.key = key;
    this.#wish = wish;
    this.#session = session;
    this.#ports = ports;
    this.#maxClockSkewMs = session.timing.maxClockSkewMs;
    this.#unresolvedKeys = ports.unresolved;
  }

  /** Notes the counter of a row that was seen free. An outdated counter is harmless. */
  observe(counter: number): void {
    this.#observedCounter = Math.max(counter, this.#observedCounter ?? 0);
  }

  async attempt(): Promise<Attempt> {
    const { gauge, sessions } = this.#ports;
    for (let round = 1; round <= ATTEMPT_ROUNDS_LIMIT; round++) {
      ensureClockWithin(gauge, this.#maxClockSkewMs);
      const closed = this.#closedUntil();
      if (closed !== undefined) return closed;
      const outcome = await this.#send();
      if (outcome.kind === 'applied') {
        // If our session expired during the write, we hold nothing. The next contender will end the session.
        this.#session.ensureTrusted();
        return { kind: 'acquired', right: outcome.row };
      }
      const lock = outcome.current;
      this.#unresolvedKeys?.see(this.key, lock);
      const isForeign = lock?.state === 'held' && lock.session !== this.#session.id;
      const refusal = await this.#assess(lock, isForeign ? await sessions.get(lock.session) : undefined);
      if (refusal !== undefined) return refusal;
    }
    return { kind: 'contended', key: this.key };
  }

  /** Costs one eventually consistent request while the holder stays the same. */
  async read(): Promise<Refusal | undefined> {
    // A stale read cannot show whether an unresolved acquire was applied. An attempt can.
    if (this.#unresolvedKeys?.has(this.key) === true) return undefined;
    if (this.#abandoned !== undefined) return this.#closedUntil();
    const { locks, sessions } = this.#ports;
    const expected = this.#lastHolder ?? this.#session.id;
    const { lock, session } = await locks.getWithSession(this.key, expected, { consistent: false });
    const isForeign = lock?.state === 'held' && lock.session !== this.#session.id;
    // Stale data about a session is safe: it is still true, or the guard refuses us. A missing session proves nothing.
    const isUnseen = isForeign && (lock.session !== expected || session === undefined);
    return this.#assess(lock, isUnseen ? await sessions.get(lock.session) : session);
  }

  async #send(): Promise<Outcome<HeldLock, LockRecord>> {
    const { locks, runtime } = this.#ports;
    const stamp = stampOf(runtime);
    const request: AcquireRequest = {
      key: this.key,
      session: this.#session.id,
      ...this.#wish,
      openBefore: stamp.now - this.#maxClockSkewMs,
      observedCounter: this.#observedCounter,
    };
    const limits = lockLimitsOf(this.#session);
    const abandoned = this.#abandoned;
    const noteUnresolved = (): void =>
      this.#unresolvedKeys?.add(this.key, unanswered(request, abandoned?.lock, stamp.now));
    try {
      const outcome = await (abandoned === undefined
        ? locks.acquire(request, stamp, limits)
        : locks.takeOver(abandoned.lock, request, { isFresh: abandoned.isFresh }, stamp, limits));
      if (outcome.kind === 'refused' && outcome.earlierAttempt === 'unknown') noteUnresolved();
      return outcome;
    } catch (error) {
      if (error instanceof StoreUnavailableError && error.applied === 'unknown') noteUnresolved();
      throw error;
    }
  }

  /** Judges the row that refused us. Returns undefined if the next write can succeed. */
  async #assess(lock: LockRecord | undefined, session: SessionRecord | undefined): Promise<Refusal | undefined> {
    this.#abandoned = undefined;
    if (lock === undefined) return undefined;
    if (lock.state === 'free') {
      this.#observedCounter = lock.leaseCounter;
      return this.#refusalUntil(opensAt(lock.notBefore, this.#maxClockSkewMs));
    }
    if (lock.session === this.#session.id) {
      // The row names our session, but we hold no lock: the response to an acquire or a release was lost.
      // Start a new tenure, so that a late release of the old one has no effect.
      this.#abandoned = { lock, openAt: 0, isFresh: false };
      return undefined;
    }
    this.#lastHolder = lock.session;
    const standing = await lockVerdictOf(lock, session, this.#ports, this.#maxClockSkewMs);
    if (standing.kind === 'held') return { kind: 'held', key: this.key, by: standing.by };
    const isFresh = standing.disposition.behaviour === 'delete';
    this.#abandoned = { lock, openAt: standing.openAt, isFresh };
    return this.#closedUntil();
  }

  #closedUntil(): Refusal | undefined {
    return this.#abandoned === undefined ? undefined : this.#refusalUntil(this.#abandoned.openAt);
  }

  #refusalUntil(openAt: number): Refusal | undefined {
    const isClosed = this.#ports.runtime.clock.now() < openAt;
    return isClosed ? { kind: 'delayed', key: this.key, until: openAt } : undefined;
  }
}

function unanswered(
  { openBefore, observedCounter }: AcquireRequest,
  tookOver: HeldLock | undefined,
  askedAt: number,
): UnansweredAcquire {
  if (tookOver === undefined) return { kind: 'acquire', askedAt, openBefore, observedCounter };
  const { session, leaseCounter } = tookOver;
  return { kind: 'takeOver', askedAt, session, leaseCounter };
}

/** Time after which a write without a response is abandoned. The caller decides how to continue. */
const WRITE_BUDGET_MS = 8_000;

/** Limits of a write to a lock row: the session's trust, and `WRITE_BUDGET_MS`. */
export function lockLimitsOf(session: ContendingSession): WriteLimits {
  return limitsWithinTrust(session, WRITE_BUDGET_MS);
}
