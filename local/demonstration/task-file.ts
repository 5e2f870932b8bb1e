/** Tasks from a file, one JSON object a line: `{"name": …, "input": …, "id"?, "priority"?, "runAt"?, "delay"?}`. */
import { readFile } from 'node:fs/promises';
import { ConfigurationError, messageOf } from '../../shared/errors.ts';
import type { EnqueueOptions, TaskClient } from '../../shared/task/client.ts';
import type { TaskRegistry } from '../../shared/task/definition.ts';
import type { NewTask } from '../../shared/task/store.ts';

export interface RejectedLine {
  readonly line: number;
  readonly error: string;
}

export interface TaskFile {
  readonly tasks: readonly NewTask[];
  readonly rejected: readonly RejectedLine[];
}

/** @throws ConfigurationError when the file cannot be read; lines that cannot be used are named in the answer, and stop no other */
export async function readTaskFile(file: string, client: TaskClient, registry: TaskRegistry): Promise<TaskFile> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new ConfigurationError(`task file ${file} cannot be read: ${messageOf(cause)}`, { cause });
  });
  const tasks: NewTask[] = [];
  const rejected: RejectedLine[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '') continue;
    try {
      tasks.push(await parseLine(line, client, registry));
    } catch (error) {
      rejected.push({ line: index + 1, error: messageOf(error) });
    }
  }
  return { tasks, rejected };
}

const FIELDS = new Set(['name', 'input', 'id', 'priority', 'runAt', 'delay']);

async function parseLine(line: string, client: TaskClient, registry: TaskRegistry): Promise<NewTask> {
  const { name, input, runAt, ...options } = parseObject(line);
  const unknown = Object.keys(options).find((field) => !FIELDS.has(field));
  if (unknown !== undefined)
    throw new ConfigurationError(`unknown field ${JSON.stringify(unknown)}: known are ${[...FIELDS].join(', ')}`);
  const definition = typeof name === 'string' ? registry.get(name) : undefined;
  if (definition === undefined)
    throw new ConfigurationError(
      `no task is named ${JSON.stringify(name)}: known are ${[...registry.keys()].join(', ')}`,
    );
  const at = runAt === undefined ? {} : { runAt: typeof runAt === 'string' ? timeOf(runAt) : (runAt as number) };
  return client.validate(definition, input === undefined ? null : input, { ...(options as EnqueueOptions), ...at });
}

function timeOf(text: string): Date {
  const at = new Date(text);
  if (Number.isNaN(at.getTime()))
    throw new ConfigurationError(`runAt = ${JSON.stringify(text)}: give a time such as 2027-01-31T08:00:00Z`);
  return at;
}

function parseObject(line: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new ConfigurationError(`not JSON: ${messageOf(cause)}`, { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ConfigurationError('not a JSON object: give {"name": …, "input": …}');
  return value as Record<string, unknown>;
}
