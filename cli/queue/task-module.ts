import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigurationError, messageOf } from '../../shared/errors.ts';
import type { TaskRegistry } from '../../shared/task/definition.ts';
import { registerTasks } from '../../shared/task/definition.ts';

/** The tasks that a module of the user's defines. Runs its code. @throws ConfigurationError */
export async function loadTasks(entry: string): Promise<TaskRegistry> {
  const file = path.resolve(entry);
  let exports: Record<string, unknown>;
  try {
    exports = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (cause) {
    throw new ConfigurationError(`the module of tasks ${entry} cannot be loaded: ${messageOf(cause)}`, { cause });
  }
  return registerTasks(exports);
}
