import type { Outcome, WriteLimits } from '../lease/outcome.ts';
import type { Stamp } from '../lease/stamp.ts';
import type { Eviction, PermitClaim, PermitRecord, SemaphoreRecord, Ticket } from './semaphore.ts';

export interface NewSemaphore {
  readonly name: string;
  /** As its contender declares it. */
  readonly limit: number;
}

/** Where semaphores live. Every write is conditional; see `dynamo/semaphore/statements.ts` for the guards. */
export interface SemaphoreStore {
  /** Refused when the row is there. */
  create(
    semaphore: NewSemaphore,
    first: PermitClaim | undefined,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<SemaphoreRecord>>;
  /** Refused unless the limit is the declared one, there is room, the queue is empty, and this permit is not there. */
  admit(
    semaphore: NewSemaphore,
    claim: PermitClaim,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<SemaphoreRecord>>;
  /** Refused when it stands in the queue already, or the queue is full. */
  queue(name: string, ticket: Ticket, write: Stamp, limits?: WriteLimits): Promise<Outcome<SemaphoreRecord>>;
  /** Any change that rests on the whole row as it was observed: refused when it was written since. */
  replace(
    observed: SemaphoreRecord,
    next: SemaphoreRecord,
    write: Stamp,
    limits?: WriteLimits,
  ): Promise<Outcome<SemaphoreRecord>>;
  /** Refused unless this permit is there with this token, evicted or not. */
  release(name: string, permit: PermitRecord, write: Stamp, limits?: WriteLimits): Promise<Outcome<SemaphoreRecord>>;
  /**
   * By an operator, written down; a live session is told in the same transaction.
   * Refused unless it is held, and its session as it was found.
   */
  evict(
    name: string,
    permit: PermitRecord,
    eviction: Eviction,
    options: { readonly closedUntil: number; readonly isLive: boolean },
    write: Stamp,
  ): Promise<'applied' | 'refused'>;

  /** Strongly consistent. */
  get(name: string): Promise<SemaphoreRecord | undefined>;
  /** A page of the names that begin with `prefix`, in order. Eventually consistent. */
  page(prefix: string, after: unknown): Promise<{ readonly names: readonly string[]; readonly next: unknown }>;
}
