/** `LockSession` is the user's handle for a session and its locks. */
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { LiveSession } from '../../session/session-record.ts';
import type { WaitOptions } from '../../core/wait/wait.ts';
import type { Lock, LockOptions } from './lock.ts';
import type { LockAcquisition, SessionLocks } from './session-locks.ts';

/** A session that is renewed in the background until it ends or is lost. Everything it holds is released with it. */
export class LockSession implements AsyncDisposable {
  /** For features that are built on sessions. */
  readonly holder: SessionHolder;
  /** For features that are built on locks. */
  protected readonly sessionLocks: SessionLocks;
  #ending: Promise<void> | undefined;

  constructor(holder: SessionHolder, locks: SessionLocks) {
    this.holder = holder;
    this.sessionLocks = locks;
  }

  get id(): string {
    return this.holder.id;
  }

  /** As last confirmed by the store. */
  get record(): LiveSession {
    return this.holder.record;
  }

  /** Aborts with a `LeaseLostError` when the session can no longer be trusted. Its `aborted` is computed on each read. */
  get signal(): AbortSignal {
    return this.holder.signal;
  }

  /** Milliseconds for which the session is still trusted. Zero or less: lost. */
  remainingTrustMs(): number {
    return this.holder.remainingTrustMs();
  }

  /**
   * Renews the session now, in addition to its heartbeat. On hosts where timers do not run, and clocks advance only with a
   * response, trust is only as fresh as the last response.
   * @returns milliseconds of remaining trust after the response; without a response, the trust is not extended
   * @throws LeaseLostError if the session can no longer be trusted
   */
  renew(): Promise<number> {
    return this.holder.renew();
  }

  /** @throws LeaseLostError when the session can no longer be trusted */
  ensureTrusted(): void {
    this.holder.ensureTrusted();
  }

  /**
   * Returns the lock, or its holder and the earliest end of its tenure, without waiting.
   * A key that this session already holds counts as held (`isOwn`), unless the caller
   * passes `reentrant: true`.
   */
  tryLock(key: string, options: LockOptions = {}): Promise<LockAcquisition> {
    return this.sessionLocks.tryAcquire(key, options);
  }

  /**
   * Waits for a lock, without limit if no `wait` is given.
   * Callers of one session wait for each other as other sessions do, and each gets a new
   * fencing token. So a flow that locks a key twice waits for itself, unless it passes `reentrant: true`.
   * @throws LockUnavailableError when the wait is over; it names the holder
   * @throws LeaseLostError when the session is lost; the reason of `signal`
   */
  lock(key: string, options: LockOptions & WaitOptions = {}): Promise<Lock> {
    return this.sessionLocks.acquire(key, options);
  }

  /** The session's locks, as far as this process knows. */
  get locks(): readonly Lock[] {
    return this.sessionLocks.held;
  }

  /**
   * Releases everything that the session holds, and ends it. Its keys are free at once, without lock-delay. Never throws: if this fails,
   * the session expires.
   */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  async #end(): Promise<void> {
    await this.sessionLocks.giveUpAll();
    await this.holder.end();
    // No request is sent for locks that were granted at the last moment, but their signals must abort.
    await this.sessionLocks.giveUpAll();
  }
}
