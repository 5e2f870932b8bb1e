import type { Outcome, WriteLimits } from '../../core/lease/outcome.ts';
import type { Stamp } from '../../core/lease/stamp.ts';
import type { PermitClaim, PermitRecord, SemaphoreRecord, Ticket } from './semaphore.ts';

export interface NewSemaphore {
  readonly name: string;
  /** As its contender declares it. */
  readonly limit: number;
}

/** A permit that an operator takes away. */
export interface EvictionRequest {
  readonly by: string;
  readonly reason: string;
  /** How long its room is closed, from the attempt that is applied; 0: not at all. */
  readonly lockDelayMs: number;
  /** Its session is live, and learns of it with its next heartbeat. */
  readonly isLive: boolean;
}

/** Storage of semaphores. Every write is conditional; see `coordination/semaphore/row/semaphore-statements.ts` for the guards. */
export interface SemaphoreStore {
  /** Refused when the row is there. */
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
  /** Refused when it stands in the queue already, the queue is full, or the claim is held or barred. */
  queue(name: string, ticket: Ticket, write: Stamp, limits?: WriteLimits): Promise<Outcome<SemaphoreRecord>>;
  /** Any change that rests on the whole row as it was observed: refused when it was written since. */
  replace(
    observed: SemaphoreRecord,
    next: SemaphoreRecord,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<SemaphoreRecord>>;
  /**
   * Bars the blind requests that its session made until `left`, the permit's own moment or a later one.
   * Refused unless this permit is there with this token, evicted or not, or when its session has left later.
   */
  release(
    name: string,
    { permit, left }: { readonly permit: PermitRecord; readonly left: number },
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<SemaphoreRecord>>;
  /** Bars the blind requests of this claim. Refused when they are barred already, or when there are too many marks. */
  forgo(name: string, claim: PermitClaim, write: Stamp, limits?: WriteLimits): Promise<Outcome<SemaphoreRecord>>;
  /**
   * By an operator, and recorded; the same transaction notifies a live session.
   * Refused unless the permit is held, and its session is as it was observed.
   * @returns the time at which its capacity opens, by the clock of the applied attempt; 0 if it is open
   */
  evict(
    name: string,
    permit: PermitRecord,
    eviction: EvictionRequest,
    write: Stamp,
  ): Promise<{ readonly kind: 'applied'; readonly closedUntil: number } | { readonly kind: 'refused' }>;

  /** Strongly consistent. */
  get(name: string): Promise<SemaphoreRecord | undefined>;
  /** A page of the names that begin with `prefix`, in order. Eventually consistent. */
  page(prefix: string, after: unknown): Promise<{ readonly names: readonly string[]; readonly next: unknown }>;
}

/** What declaring a limit takes. */
export type DeclaringStore = Pick<SemaphoreStore, 'create' | 'replace' | 'get'>;
