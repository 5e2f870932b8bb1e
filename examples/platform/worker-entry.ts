/** The laptop's worker function, with the tasks of the module in its environment. */
import { pathToFileURL } from 'node:url';
import { createWorkHandler } from '../../functions/work.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { TASKS_ENTRY_VARIABLE } from './worker-entry-variable.ts';

export const handler = createWorkHandler(await loadTasks());

async function loadTasks(): Promise<Record<string, unknown>> {
  const entry = process.env[TASKS_ENTRY_VARIABLE];
  if (entry === undefined)
    throw new ConfigurationError(`${TASKS_ENTRY_VARIABLE} is not set: the local platform sets it`);
  return (await import(pathToFileURL(entry).href)) as Record<string, unknown>;
}
