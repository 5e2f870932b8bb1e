/**
 * Locks of sessions that are known only by their id. A gateway holds them for clients that speak another protocol.
 *
 * They use the same rows, statements and verdicts as `SessionLocks`, but trust works differently.
 * A local holder trusts its own clocks. Here we read the session's row:
 * it must be live before the acquire, so that we never write an ended session,
 * and live after it, so that it was live when it got the key, because an ended session never comes back.
 *
 * An acquire sends: read session and row, write, read session. A release sends:
 * read session and row, write (a transaction if a local session is notified). With gathered reads, two reads are one request.
 */
import { LeaseLostError } from '../../shared/core/errors.ts';
import { stampOf } from '../../shared/core/lease/stamp.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import { RemoteSessions } from './sessions.ts';
import type { LiveSession } from '../../shared/session/session-record.ts';
import { closingOf } from '../../shared/session/session-record.ts';
import type { ContendingSession } from '../../shared/coordination/lock/lock-contender.ts';
import { LockContender } from '../../shared/coordination/lock/lock-contender.ts';
import { ensureUnwritten } from '../../shared/core/lease/outcome.ts';
import type { Contended } from '../../shared/core/wait/retry-contended.ts';
import { contended, retryContended } from '../../shared/core/wait/retry-contended.ts';
import type { Content, HeldLock, LockRecord, Refusal } from '../../shared/coordination/lock/lock-record.ts';
import { describeLock, isStored, validKey } from '../../shared/coordination/lock/lock-record.ts';
import { LockReader } from '../../shared/coordination/lock/lock-reader.ts';
import type { LockPorts } from '../../shared/coordination/lock/lock-verdict.ts';

type RemoteAcquisition =
  | { readonly kind: 'acquired'; readonly lock: HeldLock }
  | Refusal
  /** There is no such session, or it has ended. */
  | { readonly kind: 'sessionGone' };

type RemoteRelease = 'released' | 'notHeld';

export class RemoteLocks {
  readonly #ports: LockPorts;
  readonly #sessions: RemoteSessions;
  readonly #reader: LockReader;
  readonly #maxClockSkewMs: number;

  constructor(ports: LockPorts, maxClockSkewMs: number) {
    this.#ports = ports;
    this.#maxClockSkewMs = maxClockSkewMs;
    this.#sessions = new RemoteSessions(ports, maxClockSkewMs);
    this.#reader = new LockReader(ports, maxClockSkewMs);
  }

  /** At once: acquired, or who has it. The same session acquiring again keeps the counter and replaces the content. */
  async acquire(key: string, sessionId: string, content: Content): Promise<RemoteAcquisition> {
    const [session, seen] = await Promise.all([this.#sessions.live(sessionId), this.#ports.locks.get(validKey(key))]);
    if (session === undefined) return this.#goneAt(key);
    try {
      const attempt = await this.#attempt(key, session, content, seen);
      if (attempt.kind !== 'acquired') return attempt;
      return (await this.#sessions.live(sessionId)) === undefined ? { kind: 'sessionGone' } : attempt;
    } catch (error) {
      if (error instanceof LeaseLostError) return { kind: 'sessionGone' };
      throw error;
    }
  }

  /** The answer for an expired session. Like Consul, we check the lock-delay before the session. */
  async #goneAt(key: string): Promise<RemoteAcquisition> {
    const { lock } = await this.#reader.see(key);
    const until = this.#reader.closedUntil(lock);
    return until === 0 ? { kind: 'sessionGone' } : { kind: 'delayed', key, until };
  }

  /**
   * The holder releases the key and sets its last content, without a lock-delay.
   * If a local holder keeps this session alive, it did not ask for the release, so the same transaction notifies it.
   */
  async release(key: string, sessionId: string, content: Content): Promise<RemoteRelease> {
    const { locks, sessions, runtime } = this.#ports;
    return retryContended(describeLock(key), runtime, async (): Promise<RemoteRelease | Contended> => {
      const [row, session] = await Promise.all([locks.get(validKey(key)), sessions.get(sessionId)]);
      if (row?.state !== 'held' || row.session !== sessionId) return 'notHeld';
      const { lock, holder } = await this.#reader.judge(row, session);
      if (lock?.state !== 'held' || holder?.session !== sessionId) return 'notHeld';
      if (session?.status === 'live' && session.remote !== true)
        return (await this.#releaseAndTell(lock, session, content)) ? 'released' : contended();
      const outcome = await locks.release(lock, { content, sweepable: false }, stampOf(runtime));
      // Refused: this tenure is over. When an attempt went unanswered, it may have been that one.
      if (outcome.kind === 'applied' || outcome.earlierAttempt === 'unknown') return 'released';
      return contended(outcome);
    });
  }

  /**
   * Releases the key for someone other than the holder. The session's next heartbeat tells the holder, who may trust the key until then.
   * Returns false if the row was written in between, or the session has ended.
   */
  async #releaseAndTell(lock: HeldLock, session: LiveSession, content: Content): Promise<boolean> {
    const { locks, runtime } = this.#ports;
    const conditions = { unchanged: [], absent: [], live: [] };
    const closing = closingOf(session, { now: runtime.clock.now(), maxClockSkewMs: this.#maxClockSkewMs });
    const ended = new Map([[lock.session, { tenures: [lock], closing }]]);
    const leave = { kind: 'leave', observed: lock, content } as const;
    return (await locks.commit([leave], conditions, ended, stampOf(runtime))) === 'applied';
  }

  async #attempt(
    key: string,
    session: LiveSession,
    content: Content,
    seen: LockRecord | undefined,
  ): Promise<RemoteAcquisition> {
    const contender = new LockContender(key, { content, isListed: true }, this.#contending(session), this.#ports);
    let isFirst = true;
    return retryContended(describeLock(key), this.#ports.runtime, async (): Promise<RemoteAcquisition | Contended> => {
      const lock = isFirst ? seen : await this.#ports.locks.get(key);
      isFirst = false;
      if (isOwn(lock, session)) {
        const updated = await this.#update(lock, content);
        return updated === undefined ? contended() : { kind: 'acquired', lock: updated };
      }
      if (lock?.state === 'free') contender.observe(lock.leaseCounter);
      const attempt = await contender.attempt();
      return attempt.kind === 'acquired' ? { kind: 'acquired', lock: attempt.right } : attempt;
    });
  }

  /** Returns undefined if the row was written in between. */
  async #update(lock: HeldLock, content: Content): Promise<HeldLock | undefined> {
    if (isStored(content, lock.entry)) return lock;
    const outcome = await this.#ports.locks.update(lock, content, stampOf(this.#ports.runtime));
    if (outcome.kind === 'applied') return outcome.row;
    ensureUnwritten(describeLock(lock.key), outcome);
    return undefined;
  }

  /** Belief in a session as its row was just read. */
  #contending({ id, expiresAt, ttlMs, lockDelayMs }: LiveSession): ContendingSession {
    const { clock } = this.#ports.runtime;
    const remainingTrustMs = (): number => (expiresAt === null ? Infinity : expiresAt - clock.now());
    return {
      id,
      timing: { ...sessionTiming({ ttlMs, lockDelayMs }), maxClockSkewMs: this.#maxClockSkewMs },
      signal: new AbortController().signal,
      remainingTrustMs,
      ensureBelief() {
        if (remainingTrustMs() <= 0)
          throw new LeaseLostError(`session ${id}`, 'expired', 'its TTL passed while a key was acquired for it');
      },
    };
  }
}

function isOwn(lock: LockRecord | undefined, session: LiveSession): lock is HeldLock {
  return lock?.state === 'held' && lock.session === session.id;
}
