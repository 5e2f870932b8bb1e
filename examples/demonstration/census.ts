/** The state of all tasks, read from their rows: the truth that the display shows and the verdict rests on. */
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import type { TaskKey, TaskRecord, TaskState } from '../../shared/tasks/task/task.ts';

const FINISHED: ReadonlySet<TaskState> = new Set(['done', 'dead', 'cancelled']);

export class Census {
  readonly #store: TaskStore;
  readonly #records = new Map<string, TaskRecord>();
  readonly #keys: readonly TaskKey[];

  constructor(store: TaskStore, keys: readonly TaskKey[]) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Reads the rows that were not finished when last seen. */
  async refresh(): Promise<void> {
    const open = this.#keys.filter((key) => !FINISHED.has(this.#records.get(nameOf(key))?.state ?? 'ready'));
    for (const record of await this.#store.getMany(open)) this.#records.set(nameOf(record), record);
  }

  counts(): Readonly<Record<TaskState | 'missing', number>> {
    const counts = { ready: 0, running: 0, done: 0, dead: 0, cancelled: 0, missing: 0 };
    for (const key of this.#keys) counts[this.#records.get(nameOf(key))?.state ?? 'missing']++;
    return counts;
  }

  get total(): number {
    return this.#keys.length;
  }

  isDrained(): boolean {
    return this.#keys.every((key) => FINISHED.has(this.#records.get(nameOf(key))?.state ?? 'ready'));
  }

  records(): readonly TaskRecord[] {
    return [...this.#records.values()];
  }
}

function nameOf({ queue, id }: TaskKey): string {
  return JSON.stringify([queue, id]);
}
