/** `Session`: the user's handle for a session and for everything it holds. */
import type { Campaign, CampaignOptions, Leadership } from '../coordination/election/election.ts';
import { Election } from '../coordination/election/election.ts';
import type { WaitOptions } from '../core/wait/wait.ts';
import { LockSession } from '../coordination/lock/lock-session.ts';
import type { HeldLocks, AcquisitionOfSeveral, SeveralLocksPorts } from '../coordination/lock/several-locks.ts';
import type { LockOptions } from '../coordination/lock/lock.ts';
import { SeveralLocks } from '../coordination/lock/several-locks.ts';
import type { PermitAcquisition, PermitOptions, PermitWaitOptions } from '../coordination/semaphore/acquire.ts';
import { acquirePermit, tryAcquirePermit } from '../coordination/semaphore/acquire.ts';
import type { SemaphorePorts } from '../coordination/semaphore/semaphore-contender.ts';
import { SemaphoreFullError } from '../coordination/semaphore/semaphore-contender.ts';
import type { LimiterOptions } from '../coordination/semaphore/concurrency-limiter.ts';
import { ConcurrencyLimiter } from '../coordination/semaphore/concurrency-limiter.ts';
import type { Permit } from '../coordination/semaphore/permit.ts';
import type { SessionHolder } from '../session/keep-alive.ts';

export type SessionPorts = SeveralLocksPorts & SemaphorePorts;

/** A session that is renewed in the background until it ends or is lost. Everything it holds is released with it. */
export class Session extends LockSession {
  readonly #ports: SessionPorts;
  readonly #locks: SeveralLocks;

  constructor(holder: SessionHolder, ports: SessionPorts) {
    const locks = new SeveralLocks(holder, ports);
    super(holder, locks);
    this.#ports = ports;
    this.#locks = locks;
  }

  /**
   * Acquires several locks together, without waiting. If this session already holds one of the keys, the result is `held`, and it
   * acquires none; with `reentrant: true` that lock is among the results, with its counter.
   */
  tryLockAll(keys: readonly string[], options: LockOptions = {}): Promise<AcquisitionOfSeveral> {
    return this.#locks.tryAcquireAll(keys, options);
  }

  /** Waits for several locks, including locks that this session already holds; holds no other lock while it waits. @throws as `lock` */
  lockAll(keys: readonly string[], options: LockOptions & WaitOptions = {}): Promise<HeldLocks> {
    return this.#locks.acquireAll(keys, options);
  }

  /** Tries to become leader. Returns the leadership, or the current leader, without waiting. */
  tryCampaign(election: string, options: CampaignOptions = {}): Promise<Campaign> {
    return new Election(election, this.sessionLocks).tryCampaign(options);
  }

  /** Waits to be elected. @throws as `lock` */
  campaign(election: string, options: CampaignOptions & WaitOptions = {}): Promise<Leadership> {
    return new Election(election, this.sessionLocks).campaign(options);
  }

  /** Returns a permit, or the current holders and their expiry, without waiting. */
  tryPermit(semaphore: string, options: PermitOptions): Promise<PermitAcquisition> {
    return tryAcquirePermit(semaphore, options, this.holder, this.#ports);
  }

  /**
   * Waits for a permit, without limit when no `wait` is given.
   * @throws SemaphoreFullError if the wait times out; lists the holders
   * @throws LeaseLostError when the session is lost; the reason of `signal`
   */
  async permit(semaphore: string, options: PermitWaitOptions): Promise<Permit> {
    const acquisition = await acquirePermit(semaphore, options, this.holder, this.#ports);
    if (acquisition.kind === 'full') throw new SemaphoreFullError(semaphore, acquisition);
    return acquisition.permit;
  }

  /** Limits concurrent jobs across all processes; the slots of this session come back if its process crashes. */
  limiter(name: string, options: LimiterOptions): ConcurrencyLimiter {
    return new ConcurrencyLimiter(name, options, this.holder, this.#ports);
  }
}
