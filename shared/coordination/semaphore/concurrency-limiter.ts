/**
 * A concurrency limiter: at most `limit` concurrent members, across all processes.
 *
 * `add` waits for free capacity and returns an id; `done` releases the slot.
 * It is a semaphore with a permit per member, so the limit is never exceeded. The slot of a crashed member becomes free
 * when its session expires: one session TTL after its last heartbeat, plus the clock bound and the session's lock-delay.
 * A slow member keeps its slot for as long as its session is renewed.
 *
 * An id can be passed on: `done` works in any process.
 */
import { ConfigurationError, StoreUnavailableError, assert, shown } from '../../core/errors.ts';
import type { Duration } from '../../core/validate/duration.ts';
import { durationMs } from '../../core/validate/duration.ts';
import { validName, validWholeNumber, validOptions } from '../../core/validate/options.ts';
import type { WaitOptions } from '../../core/wait/wait.ts';
import type { PermitWaitOptions } from './acquire.ts';
import { acquirePermit, acquireSlot } from './acquire.ts';
import type { SemaphorePorts } from './semaphore-contender.ts';
import { giveBackPermit } from './give-back.ts';
import { settleLater } from './unresolved-semaphores.ts';
import { PermitBook } from './permit-book.ts';
import { formatPermit, parsePermit } from './semaphore.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';

export interface LimiterOptions {
  readonly limit: number;
  /** Maximum sleep between two tries. Each sleep is a random part of it. */
  readonly pause?: Duration | undefined;
}

/** Limits the number of concurrent members; each has a permit of one session. */
export class ConcurrencyLimiter {
  readonly name: string;
  readonly #options: LimiterOptions;
  readonly #session: SessionHolder;
  readonly #ports: SemaphorePorts;
  /** Ids whose release had no response. */
  readonly #unanswered = new Set<string>();

  constructor(name: string, options: LimiterOptions, session: SessionHolder, ports: SemaphorePorts) {
    this.name = validName('limiter', name);
    const what = `limiter ${name}`;
    const { limit, pause } = validOptions(`the options of ${what}`, options, ['limit', 'pause']);
    validWholeNumber(`${what}: limit`, limit, { min: 1 });
    if (pause !== undefined) durationMs(`${what}: pause`, pause);
    this.#options = options;
    this.#session = session;
    this.#ports = ports;
  }

  /**
   * Waits for free capacity and adds a member.
   * @returns its id; undefined if `wait` was given and has passed
   * @throws LeaseLostError if the session is lost during the wait; the reason of `signal`
   * @throws MismatchError if other contenders declare another limit
   */
  async add(options: Pick<WaitOptions, 'wait' | 'signal'> = {}): Promise<string | undefined> {
    validOptions(`the options of adding to limiter ${this.name}`, options, ['wait', 'signal']);
    const admission = await acquireSlot(this.name, this.#wanted(options), this.#session, this.#ports);
    return admission.kind === 'admitted' ? formatPermit(admission.permit) : undefined;
  }

  /**
   * Releases a slot. A repeated call changes nothing.
   * @returns whether it was still taken
   * @throws StoreUnavailableError when that is unknown; try again
   */
  async done(id: string): Promise<boolean> {
    const permit = parsePermit(id);
    if (permit === undefined) throw new ConfigurationError(`done(${shown(id)}): pass an id as add returned it`);
    const isOurs = permit.session === this.#session.id;
    const book = PermitBook.of(this.#session);
    // Do this even without a response: the next contender of the same session prunes slots that are no longer wanted.
    if (isOurs) book.close(this.name, permit.since);
    try {
      const outcome = await giveBackPermit(this.name, permit, isOurs ? book.left : permit.since, this.#ports);
      const wasUnanswered = this.#unanswered.delete(id);
      return outcome.kind === 'applied' || outcome.earlierAttempt === 'unknown' || wasUnanswered;
    } catch (error) {
      if (error instanceof StoreUnavailableError && error.applied === 'unknown') this.#unanswered.add(id);
      if (isOurs) settleLater({ name: this.name }, this.#session, this.#ports);
      throw error;
    }
  }

  /** Runs `work` in a slot, and always releases the slot afterwards. The signal aborts when the slot is lost. */
  async run<Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    options: Pick<WaitOptions, 'signal'> = {},
  ): Promise<Result> {
    validOptions(`the options of running in limiter ${this.name}`, options, ['signal']);
    if (typeof work !== 'function')
      throw new ConfigurationError(`limiter ${this.name}: run(${shown(work)}): must be a function`);
    const acquisition = await acquirePermit(this.name, this.#wanted(options), this.#session, this.#ports);
    // Without a deadline, the wait cannot end with another result.
    assert(acquisition.kind === 'acquired', `limiter ${this.name} gave up without being asked to`);
    await using permit = acquisition.permit;
    return await work(permit.signal);
  }

  #wanted(options: Pick<WaitOptions, 'wait' | 'signal'>): PermitWaitOptions {
    const { limit, pause } = this.#options;
    return { limit, pause, ...options };
  }
}
