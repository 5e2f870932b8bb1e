/**
 * One contender's way to a permit.
 *
 * | found | requests |
 * | --- | --- |
 * | room | 1: a conditional write |
 * | no such semaphore | 2: refused, created with its first holder |
 * | full of the living | 2: refused with the row, their sessions in one batch; and one to queue |
 * | full, some dead | 3: refused with the row, the sessions, one write that removes the dead and admits; and one for each session found expired |
 * | looking again | 1 read of the row, 1 of sessions not known to be alive; writes only when there is room |
 */
import { LeaseLostError, StoreUnavailableError } from '../../core/errors.ts';
import type { Outcome, WriteLimits } from '../../core/lease/outcome.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { Turns } from '../../core/wait/turns.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { SessionPorts } from '../../session/session-contender.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { limitsOf } from '../../session/limits.ts';
import { changeSemaphore } from './change.ts';
import { PermitBook } from './permit-book.ts';
import type { HolderRecord, PermitClaim, PermitRecord, SemaphoreRecord } from './semaphore.ts';
import {
  WAITING_LIMIT,
  describeSemaphore,
  ensureSameLimit,
  hasTicket,
  isSamePermit,
  mayEnter,
  withHolder,
  withoutTicket,
} from './semaphore.ts';
import type { NewSemaphore, SemaphoreStore } from './semaphore-store.ts';
import { Surveyor } from './survey.ts';

export interface SemaphorePorts extends SessionPorts {
  readonly semaphores: SemaphoreStore;
  /** Where contenders of this process wait for each other; absent: each asks for itself. */
  readonly line?: Turns<Full> | undefined;
}

/** What contention looks like. */
export interface Full {
  readonly kind: 'full';
  /** Permits whose holders are not known to be dead. */
  readonly inUse: number;
  readonly limit: number;
  readonly holders: readonly HolderRecord[];
  /** Contenders in the queue. */
  readonly waiting: number;
  /** When one of them may be found dead, by our clock; `null` when no time can be told. */
  readonly until: number | null;
}

/**
 * A permit could not be acquired within the time that its caller would wait:
 * nothing is held. Wait longer, or come back later; `full` says who has them.
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

/** Each lost round means that another contender got through; thirty in a row is no accident. */
const ROUNDS_LIMIT = 30;
const BACKOFF = { baseMs: 5, capMs: 200 };

export interface Request {
  readonly semaphore: NewSemaphore;
  readonly claim: PermitClaim;
  /** Set for a fair contender: it queues, until this moment at most. */
  readonly queueUntil: number | undefined;
}

export class Contender {
  readonly #request: Request;
  readonly #session: SessionHolder;
  readonly #ports: SemaphorePorts;
  readonly #surveyor: Surveyor;
  readonly #limits: WriteLimits;
  #mayBeQueued = false;
  #isUnanswered = false;
  #mayComeAgain = false;

  constructor(request: Request, session: SessionHolder, ports: SemaphorePorts) {
    this.#request = request;
    this.#session = session;
    this.#ports = ports;
    this.#surveyor = new Surveyor(session, ports);
    this.#limits = limitsOf(session);
  }

  /** Whether an attempt went without an answer: it may be applied yet, whatever was found since. */
  get isUnanswered(): boolean {
    return this.#isUnanswered;
  }

  /** Whether the session has to look after what such an attempt brings. */
  get mayLeaveOrphans(): boolean {
    return this.#isUnanswered || this.#mayComeAgain;
  }

  /**
   * Asks without having looked: one write when there is room. @throws MismatchError, LeaseLostError, StoreUnavailableError, ClockSkewError
   */
  async ask(): Promise<Admission> {
    return this.#pursue(rowAfter(await this.#admit()));
  }

  /** Looks, and writes only when there is something to gain. @throws as `ask` */
  async lookAgain(): Promise<Admission> {
    return this.#pursue(await this.#ports.semaphores.get(this.#request.semaphore.name));
  }

  /** Leaves the queue, if it may stand in it. */
  async giveUp(): Promise<void> {
    if (!this.#mayBeQueued) return;
    const { semaphore, claim } = this.#request;
    const leave = (row: SemaphoreRecord): SemaphoreRecord => (hasTicket(row, claim) ? withoutTicket(row, claim) : row);
    try {
      await changeSemaphore(semaphore.name, leave, this.#ports);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      // Those behind wait no longer than until its session looks after it, or until the ticket lapses.
      this.#isUnanswered = true;
    }
  }

  /** From the row as last seen to an answer. */
  async #pursue(seen: SemaphoreRecord | undefined): Promise<Admission> {
    const { semaphore, claim } = this.#request;
    let row = seen;
    const backoff = { ...this.#ports.runtime, ...BACKOFF, signal: this.#session.signal };
    const contention = { rounds: ROUNDS_LIMIT, backoff };
    return retryContended(describeSemaphore(semaphore.name), contention, async (): Promise<Admission | Contended> => {
      // Also by an attempt that was never answered, whatever was written since: no other contender asks by this claim.
      const permit = row?.holders.find((holder) => isSamePermit(holder, claim));
      if (permit?.closedUntil !== undefined)
        throw new LeaseLostError(
          describeSemaphore(semaphore.name),
          'invalidated',
          'an operator evicted this permit before its holder knew that it had it',
        );
      if (row !== undefined && permit !== undefined) {
        PermitBook.of(this.#session).admit(row, permit);
        return { kind: 'admitted', permit };
      }
      const step = await this.#step(row);
      if (step.kind === 'full') return step;
      row = rowAfter(step);
      return contended(step.kind === 'refused' ? step : undefined);
    });
  }

  /** The one write that the row invites, or that there is none. */
  async #step(row: SemaphoreRecord | undefined): Promise<Outcome<SemaphoreRecord> | Full> {
    const { semaphore, claim } = this.#request;
    if (row === undefined)
      return this.#send(this.#ports.semaphores.create(semaphore, claim, this.#stamp(), this.#limits));
    ensureSameLimit(row, semaphore.limit);
    if (mayEnter(row, claim)) return row.waiting.length === 0 ? this.#admit() : this.#enter(row, row);
    const { pruned, until } = await this.#surveyor.survey(row);
    if (mayEnter(pruned, claim)) return this.#enter(row, pruned);
    if (this.#shouldQueue(row)) return this.#queue();
    return full(pruned, until);
  }

  #admit(): Promise<Outcome<SemaphoreRecord>> {
    const { semaphore, claim } = this.#request;
    return this.#sendBlind(this.#ports.semaphores.admit(semaphore, claim, this.#stamp(), this.#limits));
  }

  #enter(observed: SemaphoreRecord, pruned: SemaphoreRecord): Promise<Outcome<SemaphoreRecord>> {
    const next = withHolder(pruned, this.#request.claim);
    return this.#send(this.#ports.semaphores.replace(observed, next, this.#stamp(), this.#limits));
  }

  #shouldQueue(row: SemaphoreRecord): boolean {
    const { claim, queueUntil } = this.#request;
    return queueUntil !== undefined && !hasTicket(row, claim) && row.waiting.length < WAITING_LIMIT;
  }

  #queue(): Promise<Outcome<SemaphoreRecord>> {
    const { semaphore, claim, queueUntil = 0 } = this.#request;
    this.#mayBeQueued = true;
    const ticket = { ...claim, until: queueUntil };
    return this.#sendBlind(this.#ports.semaphores.queue(semaphore.name, ticket, this.#stamp(), this.#limits));
  }

  /** Its guard names no revision of the row: once the permit or the place is gone, an attempt that is still under way may pass it. */
  async #sendBlind(write: Promise<Outcome<SemaphoreRecord>>): Promise<Outcome<SemaphoreRecord>> {
    const outcome = await this.#send(write);
    if (outcome.earlierAttempt === 'unknown') this.#mayComeAgain = true;
    return outcome;
  }

  async #send(write: Promise<Outcome<SemaphoreRecord>>): Promise<Outcome<SemaphoreRecord>> {
    try {
      const outcome = await write;
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

function full({ limit, free, holders, waiting }: SemaphoreRecord, until: number | null): Full {
  return { kind: 'full', inUse: limit - free, limit, holders, waiting: waiting.length, until };
}
