/**
 * `Announced` are tasks of the worker's queue that were just enqueued in its process, or on the engine of its machine.
 *
 * They have no precedence. Their rows are read only for a slot that would otherwise be idle, in the order of the index:
 * by priority, and round robin among tenants. The index shows the same tasks, so nothing depends on an announcement.
 */
import type { TaskKey } from '../task/task.ts';
import { PRIORITIES } from '../task/task.ts';
import type { Candidates, Found } from './candidates.ts';
import { PAGE_ENTRIES } from './tuning.ts';

export class Announced {
  readonly #candidates: Pick<Candidates, 'choose'>;
  #keys: readonly TaskKey[] = [];

  constructor(candidates: Pick<Candidates, 'choose'>) {
    this.#candidates = candidates;
  }

  get isEmpty(): boolean {
    return this.#keys.length === 0;
  }

  /** @returns whether there are few enough to read them by id: for more, reading the index is cheaper */
  add(keys: readonly TaskKey[]): boolean {
    const known = new Set(this.#keys.map(({ id }) => id));
    const all = [...this.#keys, ...keys.filter(({ id }) => !known.has(id))];
    const isFew = all.length <= PAGE_ENTRIES;
    this.#keys = isFew ? all : [];
    return isFew;
  }

  /** Returns the announced tasks that may be tried, and forgets all announcements. */
  async poll(): Promise<readonly Found[]> {
    const keys = this.#keys;
    this.#keys = [];
    const turns = new Map<string, number>();
    const chosen = await this.#candidates.choose(keys);
    const found = chosen.found.map((candidate) => {
      const { tenant = '', priority } = candidate.task;
      const turn = turns.get(tenant) ?? 0;
      turns.set(tenant, turn + 1);
      return { candidate, turn, rank: PRIORITIES.indexOf(priority) };
    });
    found.sort((one, other) => one.rank - other.rank || one.turn - other.turn);
    return found.map(({ candidate }) => candidate);
  }
}
