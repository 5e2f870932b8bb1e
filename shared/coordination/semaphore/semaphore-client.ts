/** The client API of semaphores. */
import { ensureUnwritten, stampOf } from '../../core/lease/write.ts';
import { MAX_LOCK_DELAY_MS } from '../../core/lease/timing.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { Closing } from '../../session/session-record.ts';
import { closingOf, trustedUntil } from '../../session/session-record.ts';
import type { Duration } from '../../core/validate/duration.ts';
import { givenMs } from '../../core/validate/duration.ts';
import { partName, partOfToken, queueOfFleet } from '../../core/permit-parts.ts';
import { validName, validOptions } from '../../core/validate/options.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { PermitAcquisition, PermitOptions, PermitWaitOptions } from './acquire.ts';
import { acquirePermit, tryAcquirePermit } from './acquire.ts';
import { changeSemaphore, declareLimit } from './change.ts';
import { readWhole } from './fleet.ts';
import type { SemaphorePorts } from './semaphore-contender.ts';
import type { HolderRecord, SemaphoreRecord } from './semaphore.ts';
import { describeSemaphore, validLimit, withLimit } from './semaphore.ts';
import type { SemaphoreState } from './state.ts';
import { judgeSemaphore } from './state.ts';

export interface EvictionOptions {
  /** The permit to evict, as in `holders` of the semaphore's state. */
  readonly token: number;
  readonly by: string;
  readonly reason: string;
  /**
   * How long its capacity stays closed. Default: the lock-delay of its session, and as long as the evicted holder may trust it. With less,
   * more holders than the limit may trust their permits at once.
   */
  readonly lockDelay?: Duration | undefined;
}

/** A revoked permit, with the time at which its capacity opens, unless its holder releases it before. */
export interface EvictedPermit extends HolderRecord {
  readonly closedUntil: number;
  /** When its holder stops trusting it, by its own clock, if no heartbeat gets through. 0: it has stopped. */
  readonly trustedUntil: number;
}

const EVICTION_OPTIONS = ['token', 'by', 'reason', 'lockDelay'] as const;

/** Reads semaphores and their holders, sets limits and evicts permits. */
export class SemaphoreClient {
  readonly #ports: SemaphorePorts;
  readonly #options: { readonly maxClockSkewMs: number };

  constructor(ports: SemaphorePorts, options: { readonly maxClockSkewMs: number }) {
    this.#ports = ports;
    this.#options = options;
  }

  /**
   * Tries once, without waiting: returns a permit, or the holders and the earliest end of each.
   * @throws MismatchError if other contenders declare another limit
   * @throws ConfigurationError if an argument is invalid
   */
  tryAcquire(session: SessionHolder, name: string, options: PermitOptions): Promise<PermitAcquisition> {
    return tryAcquirePermit(name, options, session, this.#ports);
  }

  /**
   * Waits for a permit; returns without one when `wait` has passed.
   * @throws LeaseLostError if the session is lost during the wait; the reason of `signal`; and as `tryAcquire`
   */
  acquire(session: SessionHolder, name: string, options: PermitWaitOptions): Promise<PermitAcquisition> {
    return acquirePermit(name, options, session, this.#ports);
  }

  /**
   * Returns the current holders without changing anything; undefined if the semaphore was never acquired or declared.
   * Two reads: the row, or the rows of a fleet, and the sessions of its holders.
   */
  async get(name: string): Promise<SemaphoreState | undefined> {
    const row = await readWhole(validName('semaphore', name), this.#ports.semaphores);
    return row === undefined ? undefined : judgeSemaphore(row, this.#options, this.#ports);
  }

  /** Whether a permit with this token is still held: for services that received a token. */
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

  /**
   * For deployments: changes the limit that contenders must agree on; creates the semaphore if it is missing.
   * Contenders that still declare the old limit are refused with a `MismatchError`; current holders keep their permits.
   * One read if nothing changes.
   */
  async declareLimit(name: string, limit: number): Promise<void> {
    await declareLimit(validName('semaphore', name), limit, this.#ports);
  }

  /**
   * For operators: overrides the declared limit; `'declared'` removes the override.
   * Lowering the limit revokes no permits: no contender is admitted until enough permits were released.
   * @returns false if the semaphore does not exist
   */
  async setLimit(name: string, limit: number | 'declared'): Promise<boolean> {
    const what = describeSemaphore(validName('semaphore', name));
    if (limit !== 'declared') validLimit(what, limit);
    const change = (row: SemaphoreRecord): SemaphoreRecord => {
      const wanted = limit === 'declared' ? row.declared : limit;
      return row.limit === wanted ? row : withLimit(row, wanted);
    };
    // The parts that a higher limit needs are created by the queue's next tick.
    const rows = await this.#rowsOf(name);
    const changed: unknown[] = [];
    for (const row of rows) changed.push(await changeSemaphore(row, change, this.#ports));
    return changed[0] !== undefined;
  }

  /**
   * For operators: revokes a holder's permit, and records the operator and the reason.
   * A live holder learns of it at its session's next heartbeat: its permit's signal aborts, and when it releases, its capacity is free at
   * once.
   * @returns the revoked permit, and the latest time at which its capacity opens; undefined if no such permit is held
   * @throws ConfigurationError without a name or a reason
   */
  async evict(name: string, options: EvictionOptions): Promise<EvictedPermit | undefined> {
    validName('semaphore', name);
    const { token, by, reason, lockDelay } = validOptions('the options of an eviction', options, EVICTION_OPTIONS);
    validName('by', by);
    validName('reason', reason);
    const askedMs = givenMs('lockDelay', lockDelay);
    const { semaphores, runtime } = this.#ports;
    const queue = queueOfFleet(name);
    const part = queue === undefined ? name : partName(queue, partOfToken(token));
    return retryContended(
      describeSemaphore(name),
      runtime,
      async ({ earlierAttempt }): Promise<EvictedPermit | undefined | Contended> => {
        const row = await semaphores.get(part);
        const holder = row?.holders.find(
          (candidate) => candidate.token === token && candidate.closedUntil === undefined,
        );
        if (holder === undefined) {
          ensureUnwritten(describeSemaphore(name), { earlierAttempt }, 'that permit is not held');
          return undefined;
        }
        const { isLive, closing, believedUntil } = await this.#takingFrom(holder, askedMs);
        const eviction = { by, reason, ...closing, isLive };
        // Refused: it was released, or its session was renewed or ended, in between. Another read shows which.
        const outcome = await semaphores.evict(part, holder, eviction, stampOf(runtime));
        if (outcome.kind === 'refused') return contended(outcome);
        return { ...holder, closedUntil: outcome.closedUntil, trustedUntil: believedUntil };
      },
    );
  }

  /** Returns the names of the rows of a semaphore: for a fleet, its parts. */
  async #rowsOf(name: string): Promise<readonly string[]> {
    const queue = queueOfFleet(name);
    if (queue === undefined) return [name];
    const parts = await this.#ports.semaphores.parts(queue, { consistent: true });
    return parts.map((part) => part.name);
  }

  /** If the holder's session row is damaged, we cannot notify the holder, so the longest lock-delay applies. */
  async #takingFrom(
    { session: id }: HolderRecord,
    askedMs: number | undefined,
  ): Promise<{ readonly isLive: boolean; readonly closing: Closing; readonly believedUntil: number }> {
    const found = { isDamaged: false };
    const records = await this.#ports.sessions.getMany([id], () => {
      found.isDamaged = true;
    });
    if (found.isDamaged) {
      const lockDelayMs = askedMs ?? MAX_LOCK_DELAY_MS;
      return { isLive: false, closing: { lockDelayMs, trustedUntil: 0 }, believedUntil: 0 };
    }
    const session = records.get(id);
    const isLive = session?.status === 'live';
    const reading = { now: this.#ports.runtime.clock.now(), maxClockSkewMs: this.#options.maxClockSkewMs };
    return { isLive, closing: closingOf(session, reading, askedMs), believedUntil: trustedUntil(session, reading) };
  }
}
