/** A session in its user's hands: its own life, and everything that hangs on it. */
import type { Campaign, CampaignOptions, Leadership } from './election/election.ts';
import { Election } from './election/election.ts';
import type { WaitOptions } from './wait/wait.ts';
import type { Lock, LockOptions } from './lock/lock.ts';
import type { Acquisition, AcquisitionOfSeveral, SessionLocksPorts } from './lock/session-locks.ts';
import { SessionLocks } from './lock/session-locks.ts';
import type { HeldLocks } from './lock/held-locks.ts';
import type { Acquisition as PermitAcquisition, PermitOptions, PermitWaitOptions } from './semaphore/acquire.ts';
import { acquirePermit, tryAcquirePermit } from './semaphore/acquire.ts';
import type { SemaphorePorts } from './semaphore/contender.ts';
import { SemaphoreFullError } from './semaphore/contender.ts';
import type { LimiterOptions } from './semaphore/limiter.ts';
import { ConcurrencyLimiter } from './semaphore/limiter.ts';
import type { Permit } from './semaphore/permit.ts';
import type { SessionHolder } from './session/keep-alive.ts';
import type { LiveSession } from './session/record.ts';

export type SessionPorts = SessionLocksPorts & SemaphorePorts;

/** A session, kept alive until it is ended or lost. All that it holds goes with it. */
export class Session implements AsyncDisposable {
  /** For what is built on sessions. */
  readonly holder: SessionHolder;
  readonly #locks: SessionLocks;
  readonly #ports: SessionPorts;
  #ending: Promise<void> | undefined;

  constructor(holder: SessionHolder, ports: SessionPorts) {
    this.holder = holder;
    this.#ports = ports;
    this.#locks = new SessionLocks(holder, ports);
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

  /** @throws LeaseLostError when the session may no longer be believed in */
  ensureBelief(): void {
    this.holder.ensureBelief();
  }

  /**
   * Returns at once: the lock, or who has it and until when. A key that this session holds already is held (`isOwn`), unless the caller asks
   * for it with `reentrant: true`.
   */
  tryLock(key: string, options: LockOptions = {}): Promise<Acquisition> {
    return this.#locks.tryAcquire(key, options);
  }

  /**
   * Waits for a lock, without limit when no `wait` is given. Callers of one session wait for each other as other sessions do, and each gets a new
   * fencing token: a flow that locks a key twice waits for itself, unless it asks with `reentrant: true`.
   * @throws LockUnavailableError when the wait is over, with who has it
   * @throws LeaseLostError when the session is lost; whatever reason `signal` is aborted with
   */
  lock(key: string, options: LockOptions & WaitOptions = {}): Promise<Lock> {
    return this.#locks.acquire(key, options);
  }

  /**
   * Several locks, all or none. Returns at once. If this session holds one of the keys already, that key is held, and none is taken; with
   * `reentrant: true` it is among those that are returned, with the counter that it has.
   */
  tryLockAll(keys: readonly string[], options: LockOptions = {}): Promise<AcquisitionOfSeveral> {
    return this.#locks.tryAcquireAll(keys, options);
  }

  /** Waits for several locks, those of them too that this session holds already, and takes none meanwhile. @throws as `lock` */
  lockAll(keys: readonly string[], options: LockOptions & WaitOptions = {}): Promise<HeldLocks> {
    return this.#locks.acquireAll(keys, options);
  }

  /** What it holds, as far as this process knows. */
  get locks(): readonly Lock[] {
    return this.#locks.held;
  }

  /** Returns at once: the leadership, or who leads. */
  tryCampaign(election: string, options: CampaignOptions = {}): Promise<Campaign> {
    return new Election(election, this.#locks).tryCampaign(options);
  }

  /** Waits to be elected. @throws as `lock` */
  campaign(election: string, options: CampaignOptions & WaitOptions = {}): Promise<Leadership> {
    return new Election(election, this.#locks).campaign(options);
  }

  /** Returns at once: a permit, or who holds them all and until when. */
  tryPermit(semaphore: string, options: PermitOptions): Promise<PermitAcquisition> {
    return tryAcquirePermit(semaphore, options, this.holder, this.#ports);
  }

  /**
   * Waits for a permit, without limit when no `wait` is given.
   * @throws SemaphoreFullError when the wait is over, with who holds them
   * @throws LeaseLostError when the session is lost; whatever reason `signal` is aborted with
   */
  async permit(semaphore: string, options: PermitWaitOptions): Promise<Permit> {
    const acquisition = await acquirePermit(semaphore, options, this.holder, this.#ports);
    if (acquisition.kind === 'full') throw new SemaphoreFullError(semaphore, acquisition);
    return acquisition.permit;
  }

  /** At most so many at work at a time, wherever they run; the slots of this session come back when it dies. */
  limiter(name: string, options: LimiterOptions): ConcurrencyLimiter {
    return new ConcurrencyLimiter(name, options, this.holder, this.#ports);
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
    await this.#locks.giveUpAll();
    await this.holder.end();
    // What was granted in the last moment: nothing is sent for it any more, but its signal must tell.
    await this.#locks.giveUpAll();
  }
}
