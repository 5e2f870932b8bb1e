/** `LockSession` is the user's handle for a session and its locks. */
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { LiveSession } from '../../session/session-record.ts';
import type { WaitOptions } from '../../core/wait/wait.ts';
import type { Lock, LockOptions } from './lock.ts';
import type { LockAcquisition, SessionLocks } from './session-locks.ts';

/** A session that is renewed in the background until it ends or is lost. Everything it holds is released with it. */
export class LockSession implements AsyncDisposable {
  /** For what is built on sessions. */
  readonly holder: SessionHolder;
  /** For what is made of locks. */
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

  /** Aborts, with a `LeaseLostError`, when the session may no longer be believed in. Its `aborted` is computed when asked. */
  get signal(): AbortSignal {
    return this.holder.signal;
  }

  /** Milliseconds for which it may still be believed in; zero or less: lost. */
  remainingTrustMs(): number {
    return this.holder.remainingTrustMs();
  }

  /**
   * Renews the session now, in addition to its heartbeat. On hosts where timers do not run, and clocks advance only with an
   * answer, trust is only as fresh as the last answer.
   * @returns milliseconds of remaining trust, judged after the answer; without an answer, as long as before
   * @throws LeaseLostError if the session can no longer be trusted
   */
  renew(): Promise<number> {
    return this.holder.renew();
  }

  /** @throws LeaseLostError when the session may no longer be believed in */
  ensureBelief(): void {
    this.holder.ensureBelief();
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
   * Waits for a lock, without limit when no `wait` is given.
   * Callers of one session wait for each other as other sessions do, and each gets a new
   * fencing token: a flow that locks a key twice waits for itself, unless it asks with `reentrant: true`.
   * @throws LockUnavailableError when the wait is over, with who has it
   * @throws LeaseLostError when the session is lost; whatever reason `signal` is aborted with
   */
  lock(key: string, options: LockOptions & WaitOptions = {}): Promise<Lock> {
    return this.sessionLocks.acquire(key, options);
  }

  /** Its locks, as far as this process knows. */
  get locks(): readonly Lock[] {
    return this.sessionLocks.held;
  }

  /** Gives back what it holds, and ends. Its keys are free at once, without lock-delay. Never throws: a TTL ends what this cannot. */
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
    // For locks granted in the last moment nothing is sent any more, but their signals must abort.
    await this.sessionLocks.giveUpAll();
  }
}
