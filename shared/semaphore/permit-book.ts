import type { SessionHolder } from '../session/keep-alive.ts';

/**
 * What a session's own process knows of its permits: those that it holds or is asking for.
 *
 * It makes the moments unique by which permits of one session are told apart,
 * and it tells an orphan: a permit of the session that is unknown here was admitted by an attempt whose answer never came.
 */
export class PermitBook {
  /** Names of their semaphores by their moments. */
  readonly #open = new Map<number, string>();
  #last = 0;

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
    this.#open.set(this.#last, semaphore);
    return this.#last;
  }

  /** What is open for another semaphore stays so. */
  close(semaphore: string, since: number): void {
    if (this.#open.get(since) === semaphore) this.#open.delete(since);
  }

  isOpen(since: number): boolean {
    return this.#open.has(since);
  }
}

/** Bound to the session object, which is made per invocation, and gone with it. */
const books = new WeakMap<SessionHolder, PermitBook>();
