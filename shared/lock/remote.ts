/**
 * The locks of sessions that are known by their id alone: what a gateway does for holders that speak another protocol.
 *
 * The same rows, statements and judgements as `SessionLocks`; what differs is where belief comes from.
 * A holder of ours believes by its own clocks. Here the session's row is asked: live before the acquire, so that no dead session is written,
 * and live after it, so that it was live when the key became its own, for what has ended stays ended.
 *
 * Requests of an acquire: session, row, write, session; two reads when the key is held.
 */
import { LeaseLostError } from '../errors.ts';
import { stampOf } from '../lease/stamp.ts';
import { sessionTiming } from '../lease/timing.ts';
import { RemoteSessions } from '../session/remote.ts';
import type { LiveSession } from '../session/session.ts';
import type { ContendingSession } from './contender.ts';
import { LockContender } from './contender.ts';
import { ensureUnwritten } from '../lease/outcome.ts';
import { WRITE_ROUNDS_LIMIT, contended } from './contention.ts';
import type { Content, HeldLock, LockRecord, Refusal } from './lock.ts';
import { describeLock, isStored, validKey } from './lock.ts';
import { LockReader } from './reader.ts';
import type { LockPorts } from './standing.ts';

export type RemoteAcquisition =
  | { readonly kind: 'acquired'; readonly lock: HeldLock }
  | Refusal
  /** There is no such session, or it has ended. */
  | { readonly kind: 'sessionGone' };

export type RemoteRelease = 'released' | 'notHeld';

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
    const session = await this.#sessions.live(sessionId);
    if (session === undefined) return { kind: 'sessionGone' };
    try {
      const attempt = await this.#attempt(validKey(key), session, content);
      if (attempt.kind !== 'acquired') return attempt;
      return (await this.#sessions.live(sessionId)) === undefined ? { kind: 'sessionGone' } : attempt;
    } catch (error) {
      if (error instanceof LeaseLostError) return { kind: 'sessionGone' };
      throw error;
    }
  }

  /** The holder gives the key back and leaves its last content; no lock-delay. */
  async release(key: string, sessionId: string, content: Content): Promise<RemoteRelease> {
    const { locks, runtime } = this.#ports;
    for (let round = 1; round <= WRITE_ROUNDS_LIMIT; round++) {
      const { lock, holder } = await this.#reader.see(validKey(key));
      if (lock?.state !== 'held' || holder?.session !== sessionId) return 'notHeld';
      const outcome = await locks.release(lock, { content, sweepable: false }, stampOf(runtime));
      // Refused: this tenure is over. When an attempt went unanswered, it may have been that one.
      if (outcome.kind === 'applied' || outcome.earlierAttempt === 'unknown') return 'released';
    }
    throw contended(key);
  }

  async #attempt(key: string, session: LiveSession, content: Content): Promise<RemoteAcquisition> {
    const contender = new LockContender(key, content, this.#contending(session), this.#ports);
    for (let round = 1; round <= WRITE_ROUNDS_LIMIT; round++) {
      const lock = await this.#ports.locks.get(key);
      if (isOwn(lock, session)) {
        const updated = await this.#update(lock, content);
        if (updated !== undefined) return { kind: 'acquired', lock: updated };
        continue;
      }
      if (lock?.state === 'free') contender.observe(lock.leaseCounter);
      const attempt = await contender.attempt();
      return attempt.kind === 'acquired' ? { kind: 'acquired', lock: attempt.right } : attempt;
    }
    throw contended(key);
  }

  /** Undefined: somebody wrote the row meanwhile. */
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
