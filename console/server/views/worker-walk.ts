/**
 * Walks through the listed sessions of all queues' workers, a page at a time, so that what a console reads of the list does not grow
 * with the number of queues: the list has sixteen parts, and each costs half a read unit.
 */
import type { SessionStore } from '../../../shared/session/session-store.ts';
import { workerName } from '../../../shared/tasks/dispatch/live-workers.ts';

/** Expired sessions stay listed for weeks, so a queue's list may be long. */
const LISTED_LIMIT = 100;

type Listed = ReadonlyMap<string, ReadonlySet<string>>;

export class WorkerWalk {
  #after: unknown;
  /** Ids by queue, as of the last complete walk. */
  #complete: Listed = new Map();
  #found = new Map<string, Set<string>>();

  /** Reads one page. @returns the queues in it, and whether the walk is at its end: the next page begins another one */
  async turnPage(
    sessions: Pick<SessionStore, 'page'>,
  ): Promise<{ readonly queues: Iterable<string>; readonly isOver: boolean }> {
    const { ids, names, next } = await sessions.page(workerName(''), this.#after);
    const queues = new Set<string>();
    for (const [n, name] of names.entries()) {
      const queue = name.slice(workerName('').length);
      queues.add(queue);
      this.#note(queue, ids[n] ?? '');
    }
    this.#after = next;
    if (next !== undefined) return { queues, isOver: false };
    this.#complete = this.#found;
    this.#found = new Map();
    return { queues, isOver: true };
  }

  /** Live sessions of a queue's workers, and expired ones without a recorded end. */
  of(queue: string): readonly string[] {
    return [...new Set([...(this.#complete.get(queue) ?? []), ...(this.#found.get(queue) ?? [])])];
  }

  #note(queue: string, id: string): void {
    const ids = this.#found.get(queue) ?? new Set();
    if (ids.size < LISTED_LIMIT) this.#found.set(queue, ids.add(id));
  }
}
