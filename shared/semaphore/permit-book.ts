import type { SessionHolder } from '../session/holder.ts';

/**
 * What a session's own process knows of its permits: those that it holds or is asking for.
 *
 * It makes the moments unique by which permits of one session are told apart,
 * and it tells an orphan: a permit of the session that nobody here knows was admitted by an attempt whose answer never came.
 */
export class PermitBook {
  readonly #open = new Set<number>();
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
  open(now: number): number {
    this.#last = Math.max(now, this.#last + 1);
    this.#open.add(this.#last);
    return this.#last;
  }

  close(since: number): void {
    this.#open.delete(since);
  }

  isOpen(since: number): boolean {
    return this.#open.has(since);
  }
}

/** Bound to the session object, which is made per invocation, and gone with it. */
const books = new WeakMap<SessionHolder, PermitBook>();
