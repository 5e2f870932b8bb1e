/** `KnownNames` remembers the names of the tasks that the console has read, and the fields of each one's last input. */
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import type { KnownName } from '../model.ts';

const NAMES_LIMIT = 1_000;

export class KnownNames {
  readonly #names = new Map<string, { readonly queue: string; readonly known: KnownName }>();

  note(tasks: Iterable<Pick<TaskRecord, 'queue' | 'name' | 'input' | 'payload'>>): void {
    for (const { queue, name, input, payload } of tasks) {
      const key = JSON.stringify([queue, name]);
      // An input beside its row was not read.
      const isObject = payload === undefined && typeof input === 'object' && input !== null && !Array.isArray(input);
      const fields = isObject ? Object.keys(input) : this.#names.get(key)?.known.fields;
      this.#names.set(key, { queue, known: { name, fields } });
      const [oldest] = this.#names.keys();
      if (this.#names.size > NAMES_LIMIT && oldest !== undefined) this.#names.delete(oldest);
    }
  }

  of(queue: string): readonly KnownName[] {
    return [...this.#names.values()]
      .flatMap((entry) => (entry.queue === queue ? [entry.known] : []))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }
}
