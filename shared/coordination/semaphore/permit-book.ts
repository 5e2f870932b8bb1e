import type { SessionHolder } from '../../session/keep-alive.ts';
import type { PermitClaim, PermitRecord, SemaphoreRecord } from './semaphore.ts';

interface OpenPermit {
  readonly semaphore: string;
  /** Absent while the permit is requested. */
  token?: number;
}

/** With fewer open permits, cleaning up is not worth it. */
const TIDY_FROM = 100;

/**
 * `PermitBook` is a session's record, in its own process, of the permits that it holds or is requesting.
 *
 * It assigns the unique moments that distinguish the permits of one session.
 * It finds unresolved permits in the row: the session has them, but no code here knows them, because a response was lost.
 * It knows the moment up to which the session's requests may be barred.
 */
export class PermitBook {
  /** By their moments. */
  readonly #open = new Map<number, OpenPermit>();
  #last = 0;
  #left = 0;
  #tidyFrom = TIDY_FROM;

  static of(session: SessionHolder): PermitBook {
    let book = books.get(session);
    if (book === undefined) {
      book = new PermitBook();
      books.set(session, book);
    }
    return book;
  }

  /** A moment at or just after `now` that no other permit of this session has. */
  open(semaphore: string, now: number): number {
    this.#last = Math.max(now, this.#last + 1);
    this.#open.set(this.#last, { semaphore });
    return this.#last;
  }

  /**
   * Records a permit that the semaphore's row shows. Closes earlier permits that the row does not show: another process has released them,
   * or an operator has evicted them. Otherwise the book would grow for as long as its session lives.
   */
  admit({ name, holders }: SemaphoreRecord, { since, token }: PermitRecord): void {
    const admitted = this.#open.get(since);
    if (admitted !== undefined) admitted.token = token;
    if (this.#open.size < this.#tidyFrom) return;
    const tokens = new Set(holders.map((holder) => holder.token));
    for (const [moment, open] of this.#open) {
      // A requested permit counts as later than all others.
      const { semaphore, token: its = Infinity } = open;
      if (semaphore === name && its < token && !tokens.has(its)) this.#open.delete(moment);
    }
    this.#tidyFrom = Math.max(TIDY_FROM, 2 * this.#open.size);
  }

  /** A permit of another semaphore stays open. */
  close(semaphore: string, since: number): void {
    if (this.#open.get(since)?.semaphore === semaphore) this.#open.delete(since);
    this.#left = Math.max(this.#left, since);
  }

  /** The latest moment of a released or abandoned claim. A pending request with an earlier moment must enter by `replace`. */
  get left(): number {
    return this.#left;
  }

  knows({ since }: Pick<PermitClaim, 'since'>): boolean {
    return this.#open.has(since);
  }
}

/** Bound to the session object, so it is garbage-collected with it. */
const books = new WeakMap<SessionHolder, PermitBook>();
