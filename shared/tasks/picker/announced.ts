/**
 * `Announced` are tasks of the worker's queue that were just enqueued in its process, or on the engine of its machine.
 *
 * They go before nothing: their rows are read only for a slot that would rest, and come in the order of the index:
 * by priority, and in turn among tenants. The index shows the same tasks, so nothing depends on an announcement.
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

  /** @returns whether they are few enough to be read by their ids: of more, the index is the cheaper list */
  add(keys: readonly TaskKey[]): boolean {
    const known = new Set(this.#keys.map(({ id }) => id));
    const all = [...this.#keys, ...keys.filter(({ id }) => !known.has(id))];
    const isFew = all.length <= PAGE_ENTRIES;
    this.#keys = isFew ? all : [];
    return isFew;
  }

  /** Those that may be tried; all of them are forgotten. */
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
