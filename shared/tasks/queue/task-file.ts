/** Reads tasks as lines of JSON, and checks all of them before the first is written. */
import { isUtf8 } from 'node:buffer';
import { parseUnchanged } from '../../core/json.ts';
import { isSame } from '../../core/runtime/same.ts';
import { ConfigurationError, messageOf } from '../../core/errors.ts';
import type { EnqueueOptions, TaskClient, TaskReference } from './task-client.ts';
import { hintFor } from '../../core/validate/options.ts';
import type { TaskRegistry } from '../task/definition.ts';
import { optionsIn } from '../task/task-request.ts';
import type { NewTask } from '../task/task-store.ts';

export interface Line {
  /** Counted from 1, including empty lines, as in editors. */
  readonly number: number;
  readonly task: NewTask;
}

export interface BadLine {
  readonly line: number;
  readonly error: string;
}

export interface CheckedLines {
  readonly lines: readonly Line[];
  readonly bad: readonly BadLine[];
}

/** Fields that a line may have. The command sets the queue, and tasks get the trace of the command. */
export const LINE_FIELDS: readonly string[] = ['name', 'input', ...optionsIn('command')];

/**
 * @param registry the definitions, to check names and inputs against. Default: no check
 * @throws ConfigurationError when it is not a text
 */
export async function checkLines(
  bytes: Buffer,
  client: TaskClient,
  registry: TaskRegistry | undefined,
): Promise<CheckedLines> {
  if (!isUtf8(bytes)) throw new ConfigurationError('the tasks are not UTF-8 text: pass lines of JSON');
  const lines: Line[] = [];
  const bad: BadLine[] = [];
  const byId = new Map<string, Line>();
  for (const [index, text] of bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    if (text.trim() === '') continue;
    try {
      const line = { number: index + 1, task: await checkLine(text, client, registry) };
      ensureDistinct(line, byId);
      lines.push(line);
    } catch (error) {
      bad.push({ line: index + 1, error: messageOf(error) });
    }
  }
  return { lines, bad };
}

async function checkLine(text: string, client: TaskClient, registry: TaskRegistry | undefined): Promise<NewTask> {
  const { name, input = null, ...options } = parseObject(text);
  if (typeof name !== 'string') throw new ConfigurationError('it has no name: pass {"name": …, "input": …}');
  return client.validate(referenceTo(name, registry), input, options as EnqueueOptions);
}

/** Returns the definition if there is a registry, otherwise the bare name. @throws ConfigurationError when the module does not define it */
export function referenceTo(name: string, registry: TaskRegistry | undefined): TaskReference<unknown> {
  const definition = registry?.get(name);
  const names = [...(registry?.keys() ?? [])];
  if (registry !== undefined && definition === undefined)
    throw new ConfigurationError(
      `no task is named ${JSON.stringify(name)}: the module defines ${names.join(', ')}${hintFor(name, names)}`,
    );
  return definition ?? name;
}

function parseObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseUnchanged(text);
  } catch (cause) {
    throw new ConfigurationError(`not JSON: ${messageOf(cause)}`, { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ConfigurationError('not a JSON object: pass {"name": …, "input": …}');
  const unknown = Object.keys(value).find((field) => !LINE_FIELDS.includes(field));
  if (unknown !== undefined)
    throw new ConfigurationError(
      `unknown field ${JSON.stringify(unknown)}: known are ${LINE_FIELDS.join(', ')}${hintFor(unknown, LINE_FIELDS)}`,
    );
  return value as Record<string, unknown>;
}

/** Rejects a file with different work under one id, because otherwise one of them would be refused after other tasks were written. */
function ensureDistinct(line: Line, byId: Map<string, Line>): void {
  const { id, name, input } = line.task;
  const earlier = byId.get(id);
  byId.set(id, earlier ?? line);
  if (earlier === undefined || (line.task.dedup !== undefined && line.task.dedup.policy !== 'reject')) return;
  if (earlier.task.name !== name || !isSame(earlier.task.input, input))
    throw new ConfigurationError(
      `id ${JSON.stringify(id)} stands in line ${earlier.number} for other work: use a different one for each`,
    );
}
