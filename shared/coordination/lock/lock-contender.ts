/**
 * `LockContender` makes one attempt to acquire a lock and reports what blocks it.
 *
 * Requests: one when the key is free; two when it has become free so lately that clocks cannot order that against the acquire
 * (within the clock bound; one again when it was seen free, as waiters do); two when it is held, for the holder's session is read as well;
 * four when the holder is dead and still unnoticed (refused, read, end its session, take over).
 */
import { StoreUnavailableError } from '../../core/errors.ts';
import type { Outcome, WriteLimits } from '../../core/lease/outcome.ts';
import { ensureClockWithin } from '../../core/lease/skew.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { limitsWithinTrust } from '../../session/limits.ts';
import type { SessionRecord } from '../../session/session-record.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { Content, HeldLock, LockRecord, Refusal } from './lock-record.ts';
import { describeLock, opensAt } from './lock-record.ts';
import type { Doubts, UnansweredAcquire } from './doubts.ts';
import type { HolderPorts } from './lock-standing.ts';
import { standingOf } from './lock-standing.ts';
import type { AcquireRequest } from './lock-store.ts';

export type ContendingSession = Pick<SessionHolder, 'id' | 'timing' | 'signal' | 'ensureBelief' | 'remainingTrustMs'>;

export type Attempt<Right = HeldLock> = { readonly kind: 'acquired'; readonly right: Right } | Refusal;

/** Who contends for one key or several, from the first attempt to the last. */
export interface Contender<Right> {
  /** What a waiter waits for, in the words of `Turns`. */
  readonly key: string;
  /**
   * Acquires, or says who has it.
   * @throws ClockSkewError when our clock is proven too wrong to take part
   * @throws LeaseLostError when our own session may no longer be believed in
   */
  attempt(): Promise<Attempt<Right>>;
  /** Looks whether an attempt is worth its price. Undefined: it is. */
  look(): Promise<Refusal | undefined>;
}

/** A row whose session is dead, or our own: the next write takes it over. */
interface Abandoned {
  readonly lock: HeldLock;
  readonly openAt: number;
  readonly isFresh: boolean;
}

/** Rounds of one attempt; each but the last was lost to a faster contender. */
export const ATTEMPT_ROUNDS_LIMIT = 5;

/** The last round refuses: a key that others keep winning is not free, and a caller that waits tries again. */
export function lostRound(round: number, key: string, clock: Pick<Clock, 'now'>): Contended | Refusal {
  return round < ATTEMPT_ROUNDS_LIMIT ? contended() : { kind: 'delayed', key, until: clock.now() };
}

export class LockContender implements Contender<HeldLock> {
  readonly key: string;
  readonly #content: Content | undefined;
  readonly #session: ContendingSession;
  readonly #ports: HolderPorts;
  readonly #maxClockSkewMs: number;
  readonly #doubts: Doubts | undefined;
  #abandoned: Abandoned | undefined;
  /** The counter of the row when it was last seen free. */
  #observedCounter: number | undefined;
  /** Who held it when it was last looked at. */
  #lastHolder: string | undefined;

  /** @param doubts where a lost answer is noted; absent: the caller knows how to settle it */
  constructor(
    key: string,
    content: Content | undefined,
    session: ContendingSession,
    ports: HolderPorts & { readonly doubts?: Doubts | undefined },
  ) {
    this.key = key;
    this.#content = content;
    this.#session = session;
    this.#ports = ports;
    this.#maxClockSkewMs = session.timing.maxClockSkewMs;
    this.#doubts = ports.doubts;
  }

  /** What the row said when it was seen free; an outdated counter does no harm. */
  observe(counter: number): void {
    this.#observedCounter = Math.max(counter, this.#observedCounter ?? 0);
  }

  attempt(): Promise<Attempt> {
    const { gauge, runtime, sessions } = this.#ports;
    return retryContended<Attempt>(describeLock(this.key), { rounds: ATTEMPT_ROUNDS_LIMIT }, async (round) => {
      ensureClockWithin(gauge, this.#maxClockSkewMs);
      const closed = this.#closedUntil();
      if (closed !== undefined) return closed;
      const outcome = await this.#send();
      if (outcome.kind === 'applied') {
        // A session that died meanwhile holds nothing; the next contender finds it dead.
        this.#session.ensureBelief();
        return { kind: 'acquired', right: outcome.row };
      }
      const lock = outcome.current;
      this.#doubts?.see(this.key, lock);
      const isForeign = lock?.state === 'held' && lock.session !== this.#session.id;
      const refusal = await this.#assess(lock, isForeign ? await sessions.get(lock.session) : undefined);
      return refusal ?? lostRound(round, this.key, runtime.clock);
    });
  }

  /** One cheap, eventually consistent request, as long as the holder is the same. */
  async look(): Promise<Refusal | undefined> {
    // An eventually consistent read cannot show whether the earlier acquire was applied; a write can.
    if (this.#doubts?.has(this.key) === true) return undefined;
    if (this.#abandoned !== undefined) return this.#closedUntil();
    const { locks, sessions } = this.#ports;
    const expected = this.#lastHolder ?? this.#session.id;
    const { lock, session } = await locks.getWithSession(this.key, expected, { consistent: false });
    const isForeign = lock?.state === 'held' && lock.session !== this.#session.id;
    // A stale read of a session is safe: what it shows is still true, or the write's condition fails. A missing session in a stale read proves nothing.
    const isUnseen = isForeign && (lock.session !== expected || session === undefined);
    return this.#assess(lock, isUnseen ? await sessions.get(lock.session) : session);
  }

  async #send(): Promise<Outcome<HeldLock, LockRecord>> {
    const { locks, runtime } = this.#ports;
    const stamp = stampOf(runtime);
    const request: AcquireRequest = {
      key: this.key,
      session: this.#session.id,
      content: this.#content,
      openBefore: stamp.now - this.#maxClockSkewMs,
      observedCounter: this.#observedCounter,
    };
    const limits = lockLimitsOf(this.#session);
    const abandoned = this.#abandoned;
    const doubt = (): void => this.#doubts?.add(this.key, unanswered(request, abandoned?.lock, stamp.now));
    try {
      const outcome = await (abandoned === undefined
        ? locks.acquire(request, stamp, limits)
        : locks.takeOver(abandoned.lock, request, { isFresh: abandoned.isFresh }, stamp, limits));
      if (outcome.kind === 'refused' && outcome.earlierAttempt === 'unknown') doubt();
      return outcome;
    } catch (error) {
      if (error instanceof StoreUnavailableError && error.applied === 'unknown') doubt();
      throw error;
    }
  }

  /** Judges what was found; undefined when the next write may succeed. */
  async #assess(lock: LockRecord | undefined, session: SessionRecord | undefined): Promise<Refusal | undefined> {
    this.#abandoned = undefined;
    if (lock === undefined) return undefined;
    if (lock.state === 'free') {
      this.#observedCounter = lock.leaseCounter;
      return this.#refusalUntil(opensAt(lock.notBefore, this.#maxClockSkewMs));
    }
    if (lock.session === this.#session.id) {
      // The row names our session although we hold no lock here: the response to an earlier acquire or release was lost.
      // A new tenure, so that a late release of the old one ends nothing.
      this.#abandoned = { lock, openAt: 0, isFresh: false };
      return undefined;
    }
    this.#lastHolder = lock.session;
    const standing = await standingOf(lock, session, this.#ports, this.#maxClockSkewMs);
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

/** A write that is not answered for so long is given up: its caller decides what that means. */
const WRITE_BUDGET_MS = 8_000;

/** How far a write of a lock's row may go. */
export function lockLimitsOf(session: ContendingSession): WriteLimits {
  return limitsWithinTrust(session, WRITE_BUDGET_MS);
}
