/**
 * One contender's attempt to get a permit.
 *
 * | found | requests |
 * | --- | --- |
 * | free capacity | 1: a conditional write |
 * | no such semaphore | 2: refused, created with its first holder |
 * | full, all holders live | 3: refused with the row, their sessions in one batch, one write that bars late copies of the refused request; or one to queue |
 * | full, some holders expired | 3: refused with the row, the sessions, one write that removes expired holders and admits; and one for each session found expired |
 * | polling | 1 read of the row, 1 of sessions not known to be live; writes only if capacity is free |
 */
import { LeaseLostError, StoreUnavailableError } from '../../core/errors.ts';
import type { Outcome, WriteLimits } from '../../core/lease/write.ts';
import { ensureClockWithin } from '../../core/lease/skew.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { WaiterQueue } from '../../core/wait/waiter-queue.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { SessionPorts } from '../../session/session-contender.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { limitsOf } from '../../session/limits.ts';
import { changeSemaphore } from './change.ts';
import { shouldFold } from './give-back.ts';
import { PermitBook } from './permit-book.ts';
import type { HolderRecord, PermitClaim, PermitRecord, SemaphoreRecord } from './semaphore.ts';
import {
  WAITING_LIMIT,
  describeSemaphore,
  ensureSameLimit,
  hasTicket,
  isBarred,
  isSamePermit,
  canAcquire,
  mayEnterBlind,
  withHolder,
  withLeft,
  withoutTicket,
} from './semaphore.ts';
import type { NewSemaphore, SemaphoreStore } from './semaphore-store.ts';
import { SemaphoreInspector } from './semaphore-inspector.ts';

export interface SemaphorePorts extends SessionPorts {
  readonly semaphores: SemaphoreStore;
  /** Queue of this process's contenders. Absent: each polls for itself. */
  readonly line?: WaiterQueue<Full> | undefined;
}

/** State of a full semaphore. */
export interface Full {
  readonly kind: 'full';
  /** Permits whose holders are not known to have expired. */
  readonly inUse: number;
  readonly limit: number;
  readonly holders: readonly HolderRecord[];
  /** Contenders in the queue. */
  readonly waiting: number;
  /** Earliest time by our clock at which a holder may be found expired; `null` if it is unknown. */
  readonly until: number | null;
}

/**
 * The permit could not be acquired within the wait:
 * the caller holds nothing. Wait longer, or retry later; `full` names the holders.
 */
export class SemaphoreFullError extends Error {
  override readonly name = 'SemaphoreFullError';
  readonly full: Full;

  constructor(semaphore: string, full: Full) {
    const { inUse, limit, holders, waiting } = full;
    super(
      `${describeSemaphore(semaphore)} is full: ${inUse} of ${limit} permits in use ` +
        `(holders: ${holders.length}, waiting: ${waiting}); wait longer, or raise its limit`,
    );
    this.full = full;
  }
}

export type Admission = { readonly kind: 'admitted'; readonly permit: PermitRecord } | Full;

/** The head of a queue polls this often: as many contenders as there are permits, whom the next release may admit. */
const HEAD_POLL_MS = 60;
const TAIL_POLLS = 30;

export interface Request {
  readonly semaphore: NewSemaphore;
  readonly claim: PermitClaim;
  /** Set for a fair contender, which queues until this time at most. */
  readonly queueUntil: number | undefined;
  /** False: if the row is full, it judges no sessions, because another part of a fleet has free capacity. */
  readonly mayJudge?: boolean;
}

export class SemaphoreContender {
  readonly #request: Request;
  readonly #session: SessionHolder;
  readonly #ports: SemaphorePorts;
  readonly #inspector: SemaphoreInspector;
  readonly #limits: WriteLimits;
  #seen: SemaphoreRecord | undefined;
  #turnAt: number | undefined;
  #mayBeQueued = false;
  /** Whether a request was sent. If so, the guard of a late copy of a blind request may be true later. */
  #hasSent = false;
  /** Whether an attempt had no response. If so, it may still be applied, even if later reads did not show it. */
  #isUnanswered = false;

  constructor(request: Request, session: SessionHolder, ports: SemaphorePorts) {
    this.#request = request;
    this.#session = session;
    this.#ports = ports;
    this.#inspector = new SemaphoreInspector(session, ports);
    this.#limits = limitsOf(session);
  }

  /**
   * Requests a permit without a read: one write if there is free capacity. @throws MismatchError, LeaseLostError, StoreUnavailableError,
   * ClockSkewError
   */
  async ask(): Promise<Admission> {
    this.#ensureClock();
    await this.#admit();
    return this.#pursue();
  }

  /** Tries to enter a row that the caller has just read: one write if there is free capacity. @throws as `ask` */
  async enter(row: SemaphoreRecord): Promise<Admission> {
    this.#seen = row;
    return this.#pursue();
  }

  /** When its place in a fair queue makes the next poll worth its cost. Undefined outside of a queue. */
  get turnAt(): number | undefined {
    return this.#turnAt;
  }

  /** Reads, and writes only if it can gain something. @throws as `ask` */
  async pollAgain(): Promise<Admission> {
    this.#seen = await this.#ports.semaphores.get(this.#request.semaphore.name);
    return this.#pursue();
  }

  /**
   * Called before the caller learns that it holds nothing: afterwards, earlier requests cannot take a permit or a queue entry.
   * No request if the row, as last seen, bars the claim; one write; or a read and a write for a contender that queued.
   * @returns the permit that a late attempt has already taken
   * @throws StoreUnavailableError if that is not known
   */
  async leave(): Promise<PermitRecord | undefined> {
    if (!this.#hasSent) return undefined;
    const { holders } = this.#hasLeft(this.#seen) ? this.#seen : await this.#forgo();
    const permit = holders.find((holder) => isSamePermit(holder, this.#request.claim));
    return permit?.closedUntil === undefined ? permit : undefined;
  }

  async #forgo(): Promise<SemaphoreRecord> {
    const { semaphore, claim } = this.#request;
    const { semaphores } = this.#ports;
    if (!this.#mayBeQueued) {
      if (this.#seen !== undefined && shouldFold(this.#seen)) {
        const folded = await this.#replace(this.#seen, withLeft(this.#seen, [claim]));
        if (folded.kind === 'applied') return folded.row;
      }
      const outcome = await this.#send(semaphores.forgo(semaphore.name, claim, this.#stamp(), this.#limits));
      if (outcome.kind === 'applied') return outcome.row;
      if (this.#hasLeft(outcome.current)) return outcome.current;
    }
    // Its new revision also refuses a *replace* that is in flight.
    // Another contender's fold may bar this claim too; then nothing is left to write.
    const change = (row: SemaphoreRecord): SemaphoreRecord =>
      this.#hasLeft(row) ? row : withLeft(withoutTicket(row, claim), [claim]);
    const changed = await changeSemaphore(semaphore.name, change, this.#ports);
    if (changed !== undefined) return changed;
    // A create that is in flight will find this row, without a holder.
    await this.#send(semaphores.create(semaphore, undefined, this.#stamp(), this.#limits));
    return this.#forgo();
  }

  #hasLeft(row: SemaphoreRecord | undefined): row is SemaphoreRecord {
    const { claim } = this.#request;
    return row !== undefined && !this.#isUnanswered && isBarred(row, claim) && !hasTicket(row, claim);
  }

  /** Continues from the last seen row to a result. */
  async #pursue(): Promise<Admission> {
    const { semaphore, claim } = this.#request;
    const { runtime, semaphores } = this.#ports;
    const patience = { ...runtime, signal: this.#session.signal };
    const name = describeSemaphore(semaphore.name);
    return retryContended(name, patience, async ({ isAfterPause }): Promise<Admission | Contended> => {
      if (isAfterPause) this.#seen = await semaphores.get(semaphore.name);
      const row = this.#seen;
      // Includes an attempt that had no response, because no other contender uses this claim.
      const permit = row?.holders.find((holder) => isSamePermit(holder, claim));
      if (permit?.closedUntil !== undefined)
        throw new LeaseLostError(
          describeSemaphore(semaphore.name),
          'invalidated',
          'an operator evicted this permit before its holder learned of it',
        );
      if (row !== undefined && permit !== undefined) {
        PermitBook.of(this.#session).admit(row, permit);
        return { kind: 'admitted', permit };
      }
      this.#ensureClock();
      const step = await this.#step(row);
      if (step.kind === 'full') return step;
      return contended(step.kind === 'refused' ? step : undefined);
    });
  }

  /** As with locks: we judge sessions of others by our clock, and they judge ours by theirs. @throws ClockSkewError */
  #ensureClock(): void {
    ensureClockWithin(this.#ports.gauge, this.#session.timing.maxClockSkewMs);
  }

  /** Sends the one write that the row allows, or reports that the semaphore is full. */
  async #step(row: SemaphoreRecord | undefined): Promise<Outcome<SemaphoreRecord> | Full> {
    const { semaphore, claim } = this.#request;
    if (row === undefined)
      return this.#send(this.#ports.semaphores.create(semaphore, claim, this.#stamp(), this.#limits));
    ensureSameLimit(row, semaphore.limit);
    if (canAcquire(row, claim))
      return mayEnterBlind(row, claim) ? this.#admit() : this.#replace(row, withHolder(row, claim));
    const place = row.waiting.findIndex((ticket) => isSamePermit(ticket, claim));
    this.#turnAt = place < 0 ? undefined : this.#pollAt(place, row);
    // The first in the queue judges all sessions. The others do it only sometimes, because earlier waiters may have crashed.
    if (place > 0 && this.#ports.runtime.random.next() * place >= 1) return full(row, null);
    if (this.#request.mayJudge === false) return full(row, null);
    const { pruned, until } = await this.#inspector.survey(row);
    if (canAcquire(pruned, claim)) return this.#replace(row, withHolder(pruned, claim));
    if (this.#shouldQueue(row)) return this.#queue(row, pruned);
    return full(pruned, until);
  }

  #pollAt(place: number, { limit }: SemaphoreRecord): number {
    return this.#ports.runtime.clock.now() + HEAD_POLL_MS * Math.min(TAIL_POLLS, Math.max(1, place / limit));
  }

  #admit(): Promise<Outcome<SemaphoreRecord>> {
    const { semaphore, claim } = this.#request;
    return this.#send(this.#ports.semaphores.admit(semaphore, claim, this.#stamp(), this.#limits));
  }

  #replace(observed: SemaphoreRecord, next: SemaphoreRecord): Promise<Outcome<SemaphoreRecord>> {
    return this.#send(this.#ports.semaphores.replace(observed, next, this.#stamp(), this.#limits));
  }

  #shouldQueue(row: SemaphoreRecord): boolean {
    const { claim, queueUntil } = this.#request;
    return queueUntil !== undefined && !hasTicket(row, claim) && row.waiting.length < WAITING_LIMIT;
  }

  #queue(row: SemaphoreRecord, pruned: SemaphoreRecord): Promise<Outcome<SemaphoreRecord>> {
    const { semaphore, claim, queueUntil = 0 } = this.#request;
    this.#mayBeQueued = true;
    const ticket = { ...claim, until: queueUntil };
    if (isBarred(row, claim)) return this.#replace(row, { ...pruned, waiting: [...pruned.waiting, ticket] });
    return this.#send(this.#ports.semaphores.queue(semaphore.name, ticket, this.#stamp(), this.#limits));
  }

  async #send(write: Promise<Outcome<SemaphoreRecord>>): Promise<Outcome<SemaphoreRecord>> {
    this.#hasSent = true;
    try {
      const outcome = await write;
      this.#seen = rowAfter(outcome);
      if (outcome.kind === 'refused' && outcome.earlierAttempt === 'unknown') this.#isUnanswered = true;
      return outcome;
    } catch (error) {
      if (error instanceof StoreUnavailableError && error.applied === 'unknown') this.#isUnanswered = true;
      throw error;
    }
  }

  #stamp() {
    return stampOf(this.#ports.runtime);
  }
}

function rowAfter(outcome: Outcome<SemaphoreRecord>): SemaphoreRecord | undefined {
  return outcome.kind === 'applied' ? outcome.row : outcome.current;
}

export function full({ limit, free, holders, waiting }: SemaphoreRecord, until: number | null): Full {
  return { kind: 'full', inUse: limit - free, limit, holders, waiting: waiting.length, until };
}
