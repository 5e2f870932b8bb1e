/** A listing that reads many tasks to find a few: it stops in time, and tells people how far it is. */
import type { Clock } from '../../shared/core/runtime/clock.ts';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import type { Output } from '../output.ts';
import { plural, printable } from '../output.ts';

const EVERY_MS = 1_000;
const IDS_SHOWN = 3;

/**
 * Yields the tasks of pages until so many read units are used up, and the rest of the page that used them up.
 * @param onCut called with the first task that is left out
 */
export async function* upTo<T>(
  units: number,
  usedUnits: () => number,
  tasks: AsyncIterable<T>,
  onCut: (used: number, at: T) => void,
): AsyncGenerator<T> {
  const before = usedUnits();
  let seen = 0;
  for await (const task of tasks) {
    const used = usedUnits() - before;
    if (used > seen && seen >= units) {
      onCut(Math.ceil(used), task);
      return;
    }
    seen = used;
    yield task;
  }
}

/** From the second second on, tells each second how many tasks were read, and which are the first that match. */
export class ListingProgress {
  readonly #clock: Clock;
  readonly #output: Output;
  readonly #first: string[] = [];
  #read = 0;
  #matching = 0;
  #toldAt: number;

  constructor(clock: Clock, output: Output) {
    this.#clock = clock;
    this.#output = output;
    this.#toldAt = clock.monotonic();
  }

  note({ id }: TaskRecord, isWanted: boolean): void {
    this.#read++;
    if (isWanted) this.#matching++;
    if (isWanted && this.#first.length < IDS_SHOWN) this.#first.push(id);
    const now = this.#clock.monotonic();
    if (now - this.#toldAt < EVERY_MS) return;
    this.#toldAt = now;
    const found = this.#matching === 0 ? 'none matches' : `${this.#matching} match: ${this.#first.join(', ')}`;
    const more = this.#matching > this.#first.length ? ', …' : '';
    this.#output.note(printable(`${plural(this.#read, 'task')} read so far, ${found}${more}`));
  }
}
