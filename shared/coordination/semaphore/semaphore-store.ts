import type { Outcome, WriteLimits, Stamp } from '../../core/lease/write.ts';
import type { Closing } from '../../session/session-record.ts';
import type { PermitClaim, PermitRecord, SemaphoreRecord, Ticket } from './semaphore.ts';

export interface NewSemaphore {
  readonly name: string;
  /** The limit that the contender declares. */
  readonly limit: number;
  /** The limit in effect when it is created, if an operator has set another. */
  readonly inEffect?: number;
}

/** A permit that an operator evicts. The lock-delay counts from the applied attempt. */
export interface EvictionRequest extends Closing {
  readonly by: string;
  readonly reason: string;
  /** Whether its session is live. If so, the session learns of it at its next heartbeat. */
  readonly isLive: boolean;
}

/** Storage of semaphores. Every write is conditional; see `coordination/semaphore/row/semaphore-statements.ts` for the guards. */
export interface SemaphoreStore {
  /** Refused if the row exists. */
  create(
    semaphore: NewSemaphore,
    first: PermitClaim | undefined,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<SemaphoreRecord>>;
  /**
   * Refused unless the limit is the declared one, capacity is free, the queue is empty, this permit is not in the row, and it is not
   * barred.
   */
  admit(
    semaphore: NewSemaphore,
    claim: PermitClaim,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<SemaphoreRecord>>;
  /** Refused if the claim is already in the queue, held or barred, or the queue is full. */
  queue(name: string, ticket: Ticket, write: Stamp, limits?: WriteLimits): Promise<Outcome<SemaphoreRecord>>;
  /** Any change that depends on the whole observed row. Refused if the row was written since then. */
  replace(
    observed: SemaphoreRecord,
    next: SemaphoreRecord,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<SemaphoreRecord>>;
  /**
   * Releases a permit, and bars the blind requests that its session made until `left`, the permit's own moment or a later one.
   * Refused unless the row has this permit with this token, evicted or not; also refused if its session has released later.
   */
  release(
    name: string,
    { permit, left }: { readonly permit: PermitRecord; readonly left: number },
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<SemaphoreRecord>>;
  /** Bars the blind requests of this claim. Refused if they are already barred, or if there are too many marks. */
  forgo(name: string, claim: PermitClaim, write: Stamp, limits?: WriteLimits): Promise<Outcome<SemaphoreRecord>>;
  /**
   * For operators: evicts a permit and records that. The same transaction notifies a live session.
   * Refused unless the permit is held, and its session is as observed.
   * @returns the time at which its capacity opens, by the clock of the applied attempt; 0 if it is open
   */
  evict(
    name: string,
    permit: PermitRecord,
    eviction: EvictionRequest,
    write: Stamp,
  ): Promise<
    | { readonly kind: 'applied'; readonly closedUntil: number }
    | Pick<Extract<Outcome<never>, { kind: 'refused' }>, 'kind' | 'earlierAttempt'>
  >;

  /** Strongly consistent. */
  get(name: string): Promise<SemaphoreRecord | undefined>;
  /** Returns the existing parts of a queue's permits, in order. */
  parts(queue: string, options: { readonly consistent: boolean }): Promise<readonly SemaphoreRecord[]>;
  /** A page of the names that begin with `prefix`, in order. Eventually consistent. */
  page(prefix: string, after: unknown): Promise<{ readonly names: readonly string[]; readonly next: unknown }>;
}

/** The operations that are needed to declare a limit, and to read a fleet. */
export type DeclaringStore = Pick<SemaphoreStore, 'create' | 'replace' | 'get' | 'parts'>;
