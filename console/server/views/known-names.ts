/**
 * `KnownNames` remembers the names of the tasks that the console has read, and the fields of each one's last input.
 * `readNames` adds the names that the queue's workers have announced.
 */
import type { TaskRecord } from '../../../shared/tasks/task/task.ts';
import { announcedIn } from '../../../shared/tasks/worker/announced-names.ts';
import type { ConsoleConnection } from '../connection.ts';
import type { KnownName } from '../../model.ts';
import type { Priced } from '../shared-reads.ts';

const NAMES_LIMIT = 1_000;

export class KnownNames {
  readonly #names = new Map<string, { readonly queue: string; readonly known: KnownName }>();

  note(tasks: Iterable<Pick<TaskRecord, 'queue' | 'name' | 'input' | 'payload'>>): void {
    for (const { queue, name, input, payload } of tasks) {
      const key = JSON.stringify([queue, name]);
      // An input in a second row was not read.
      const isObject = payload === undefined && typeof input === 'object' && input !== null && !Array.isArray(input);
      const fields = isObject ? Object.keys(input) : this.#names.get(key)?.known.fields;
      this.#names.set(key, { queue, known: { name, fields } });
      const [oldest] = this.#names.keys();
      if (this.#names.size > NAMES_LIMIT && oldest !== undefined) this.#names.delete(oldest);
    }
  }

  of(queue: string): readonly KnownName[] {
    return [...this.#names.values()].flatMap((entry) => (entry.queue === queue ? [entry.known] : []));
  }
}

export async function readNames(
  connection: ConsoleConnection,
  names: KnownNames,
  queue: string,
): Promise<Priced<readonly KnownName[]>> {
  const { queues, spent } = connection.open();
  const record = await queues.glance(queue);
  const announced = (record && announcedIn(record)?.names) ?? [];
  const read = names.of(queue);
  const others = announced.filter((name) => !read.some((one) => one.name === name));
  const value = [...read, ...others.map((name): KnownName => ({ name, fields: undefined }))];
  return { value: value.sort((one, other) => (one.name < other.name ? -1 : 1)), units: spent() };
}
