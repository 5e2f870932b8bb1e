import type { SessionHolder } from '../../session/keep-alive.ts';
import type { PermitClaim, PermitRecord, SemaphoreRecord } from './semaphore.ts';

interface OpenPermit {
  readonly semaphore: string;
  /** Absent while it is asked for. */
  token?: number;
}

/** With fewer open permits there is nothing to tidy. */
const TIDY_FROM = 100;

/**
 * `PermitBook` is a session's record, in its own process, of the permits that it holds or is requesting.
 *
 * It assigns the unique moments that distinguish the permits of one session.
 * It tells which permits in the row belong to a doubt: the session has them, and no code here knows them, because a response was lost.
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
      // One that is asked for counts as later than all.
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

/** Bound to the session object, which is made per invocation, and gone with it. */
const books = new WeakMap<SessionHolder, PermitBook>();
