/** Semaphores as their users call them. */
import type { SessionHolder } from '../session/keep-alive.ts';
import type { Acquisition, PermitOptions, PermitWaitOptions } from './acquire.ts';
import { acquirePermit, tryAcquirePermit } from './acquire.ts';
import type { SemaphorePorts } from './contender.ts';
import type { EvictionOptions } from './operate.ts';
import { declareLimit, evictPermit, setLimit } from './operate.ts';
import type { HolderRecord } from './semaphore.ts';
import type { SemaphoreState } from './state.ts';
import { readSemaphore } from './state.ts';

/** Semaphores: permits for sessions, who holds them, their limits, evictions. */
export class SemaphoreClient {
  readonly #ports: SemaphorePorts;
  readonly #options: { readonly maxClockSkewMs: number };

  constructor(ports: SemaphorePorts, options: { readonly maxClockSkewMs: number }) {
    this.#ports = ports;
    this.#options = options;
  }

  /**
   * One try, without waiting: a permit, or who holds them all and until when.
   * @throws MismatchError when other contenders declare another limit
   * @throws ConfigurationError when an argument is not usable
   */
  tryAcquire(session: SessionHolder, name: string, options: PermitOptions): Promise<Acquisition> {
    return tryAcquirePermit(name, options, session, this.#ports);
  }

  /**
   * Waits for a permit; without one when `wait` is over.
   * @throws LeaseLostError when the session is lost meanwhile; the reason of `signal`; and as `tryAcquire`
   */
  acquire(session: SessionHolder, name: string, options: PermitWaitOptions): Promise<Acquisition> {
    return acquirePermit(name, options, session, this.#ports);
  }

  /** Who holds it now, judged without changing anything; undefined when it was never held. */
  get(name: string): Promise<SemaphoreState | undefined> {
    return readSemaphore(name, this.#options, this.#ports);
  }

  /** Whether a permit is still held, by its token: for services that were told of one. */
  async verify(name: string, token: number): Promise<boolean> {
    const state = await this.get(name);
    return state?.holders.some((holder) => holder.token === token && holder.standing === 'live') ?? false;
  }

  /** Names that begin with `prefix`, in order. Eventually consistent. */
  async *list(prefix = ''): AsyncGenerator<string> {
    let after: unknown;
    do {
      const { names, next } = await this.#ports.semaphores.page(prefix, after);
      yield* names;
      after = next;
    } while (after !== undefined);
  }

  /** By a deployment: changes the limit that all must declare. Who is in stays in. One read when nothing changes. */
  async declareLimit(name: string, limit: number): Promise<void> {
    await declareLimit(name, limit, this.#ports);
  }

  /**
   * By an operator: sets the limit in effect, whatever is declared. Lowering it takes nothing away. False when there is no such semaphore.
   */
  async setLimit(name: string, limit: number | 'declared'): Promise<boolean> {
    return (await setLimit(name, limit, this.#ports)) !== undefined;
  }

  /**
   * By an operator: takes one permit away, and writes down who did it and why; its room stays closed for the lock-delay,
   * or until its holder, told by its next heartbeat, has released it. Undefined when no such permit is held.
   */
  evict(name: string, eviction: EvictionOptions): Promise<HolderRecord | undefined> {
    return evictPermit(name, eviction, this.#ports);
  }
}
