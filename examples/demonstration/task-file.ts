/** Tasks from a file, one JSON object a line. */
import { readFile } from 'node:fs/promises';
import { ConfigurationError, messageOf } from '../../shared/core/errors.ts';
import type { TaskClient } from '../../shared/tasks/queue/task-client.ts';
import type { TaskRegistry } from '../../shared/tasks/task/definition.ts';
import type { CheckedLines } from '../../shared/tasks/queue/task-file.ts';
import { checkLines } from '../../shared/tasks/queue/task-file.ts';

/** @throws ConfigurationError when the file cannot be read; lines that cannot be used are named in the answer, and stop no other */
export async function readTaskFile(file: string, client: TaskClient, registry: TaskRegistry): Promise<CheckedLines> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    throw new ConfigurationError(`task file ${file} cannot be read: ${messageOf(cause)}`, { cause });
  });
  return checkLines(bytes, client, registry);
}
