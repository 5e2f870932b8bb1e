/**
 * Tasks whose names the worker's module does not define: left to other workers, because another deployment may define them.
 *
 * Claiming such a task would only use up its attempts. Its row is read again after a while, and each name is
 * logged once.
 */
import type { TaskLog } from '../task/context.ts';
import type { TaskRegistry } from '../task/definition.ts';
import type { TaskKey } from '../task/task.ts';

/** A wrong module lacks all names, so log lines for the first ones are enough. */
const NAMES_SAID = 20;

export class UnknownNames {
  readonly #registry: TaskRegistry;
  readonly #log: TaskLog;
  readonly #names = new Set<string>();

  constructor(registry: TaskRegistry, log: TaskLog) {
    this.#registry = registry;
    this.#log = log;
  }

  note({ id, name }: TaskKey & { readonly name: string }): void {
    if (this.#names.has(name) || this.#names.size === NAMES_SAID) return;
    this.#names.add(name);
    this.#log.error('task skipped: unknown name', {
      name,
      task: id,
      known: [...this.#registry.keys()],
      remedy: 'deploy the module that defines it to the workers of this queue, or give this module a queue of its own',
    });
  }
}
