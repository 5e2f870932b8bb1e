/**
 * A concurrency limiter: at most so many members at work at a time, wherever they run.
 *
 * `add` waits until there are fewer than the maximum and answers with an id; `done` gives the slot back.
 * It is a semaphore with a permit per member, so the maximum is never crept over, and the slot of a crashed member comes back
 * when its session is dead: one session TTL after its last heartbeat, plus the bound on clock differences and the session's lock-delay.
 * A slow member keeps its slot for as long as its session is renewed.
 *
 * An id can be passed on: `done` works in any process.
 */
import { ConfigurationError, assert } from '../errors.ts';
import type { Duration } from '../lease/duration.ts';
import { stampOf } from '../lease/stamp.ts';
import type { WaitOptions } from '../lease/waiting.ts';
import { acquirePermit } from './acquire.ts';
import type { SemaphorePorts } from './contender.ts';
import type { Permit } from './permit.ts';
import { formatPermit, parsePermit } from './semaphore.ts';
import type { SessionHolder } from '../session/holder.ts';

export interface LimiterOptions {
  readonly maximum: number;
  /** The longest sleep between two tries; sleeps are random below it. */
  readonly pause?: Duration | undefined;
}

export class ConcurrencyLimiter {
  readonly name: string;
  readonly #options: LimiterOptions;
  readonly #session: SessionHolder;
  readonly #ports: SemaphorePorts;
  readonly #members = new Map<string, Permit>();

  constructor(name: string, options: LimiterOptions, session: SessionHolder, ports: SemaphorePorts) {
    this.name = name;
    this.#options = options;
    this.#session = session;
    this.#ports = ports;
  }

  /**
   * Waits until there is room for one more.
   * @returns its id; undefined when `wait` was given and is over
   * @throws LeaseLostError when the session is lost meanwhile; the reason of `signal`
   * @throws MismatchError when others have another maximum
   */
  async add(options: Pick<WaitOptions, 'wait' | 'signal'> = {}): Promise<string | undefined> {
    const permit = await this.#acquire(options);
    if (permit === undefined) return undefined;
    const id = formatPermit(permit.record);
    this.#members.set(id, permit);
    return id;
  }

  /**
   * Gives a slot back; again, it changes nothing.
   * @returns whether it was still taken
   * @throws StoreUnavailableError when that is not known; try again
   */
  async done(id: string): Promise<boolean> {
    const own = this.#members.get(id);
    const released = own === undefined ? await this.#release(id) : await own.release();
    this.#members.delete(id);
    return released;
  }

  /** Does `work` in a slot, and gives it back however it ends. The signal aborts when the slot is lost. */
  async run<Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    options: Pick<WaitOptions, 'signal'> = {},
  ): Promise<Result> {
    const permit = await this.#acquire(options);
    // Without a deadline there is no other answer.
    assert(permit !== undefined, `limiter ${this.name} gave up without being asked to`);
    await using _ = permit;
    return await work(permit.signal);
  }

  async #acquire(options: Pick<WaitOptions, 'wait' | 'signal'>): Promise<Permit | undefined> {
    const { maximum, pause } = this.#options;
    const wanted = { limit: maximum, pause, ...options };
    const acquisition = await acquirePermit(this.name, wanted, this.#session, this.#ports);
    return acquisition.kind === 'acquired' ? acquisition.permit : undefined;
  }

  async #release(id: string): Promise<boolean> {
    const permit = parsePermit(id);
    if (permit === undefined)
      throw new ConfigurationError(`done(${JSON.stringify(id).slice(0, 80)}): give an id as add returned it`);
    const { semaphores, runtime } = this.#ports;
    const outcome = await semaphores.release(this.name, permit, stampOf(runtime));
    return outcome.kind === 'applied' || outcome.earlierAttempt === 'unknown';
  }
}
