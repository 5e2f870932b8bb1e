/** The flags for a task's options, for all commands that create tasks: one for each of `SharedTaskOptions` except the queue. */
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { Duration } from '../../shared/core/validate/duration.ts';
import { durationMs } from '../../shared/core/validate/duration.ts';
import { MAX_ATTEMPTS_LIMIT } from '../../shared/tasks/task/bounds.ts';
import type { SharedTaskOptions } from '../../shared/tasks/task/task-request.ts';
import { PRIORITIES } from '../../shared/tasks/task/task.ts';
import { checked } from '../../local/arguments.ts';
import { name, spanOption, wholeNumber } from '../arguments.ts';

/** The values as commander parses them, by option name. */
export type TaskFlags = Omit<SharedTaskOptions, 'queue'>;

const flags = (): Readonly<Record<keyof TaskFlags, Option>> => ({
  priority: new Option('--priority <priority>', 'its priority').choices(PRIORITIES),
  expiresIn: spanOption('--expires-in <span>', 'discard the task if it has not started within this time'),
  maxAttempts: new Option('--max-attempts <n>', "claims before it is dead, instead of its definition's").argParser(
    wholeNumber(1, MAX_ATTEMPTS_LIMIT),
  ),
  timeout: spanOption('--timeout <span>', "time of one attempt, instead of its definition's"),
  key: new Option('--key <key>', 'the key that --limit, --rate and --ordered are about').argParser(name),
  limit: new Option('--limit <n>', 'tasks of the key that run at a time').argParser(wholeNumber(1)),
  rate: new Option('--rate <n/span>', 'tasks of the key that begin in each span, such as 10/1m').argParser(rateOf),
  ordered: new Option(
    '--ordered',
    'run the ordered tasks of the key one at a time, in the order in which they are enqueued',
  ),
  tenant: new Option('--tenant <tenant>', 'whose it is: workers serve tenants in turn').argParser(name),
});

/** The flag of each option, such as `maxAttempts: '--max-attempts'`. */
export const TASK_FLAGS = Object.fromEntries(
  Object.entries(flags()).map(([option, { long }]) => [option, String(long)]),
) as Readonly<Record<keyof TaskFlags, string>>;

export function withTaskFlags(command: Command): Command {
  return Object.values(flags()).reduce((one, flag) => one.addOption(flag), command);
}

/** Returns the command options that are task options. */
export function taskOptionsOf(options: TaskFlags): TaskFlags {
  return Object.fromEntries(Object.entries(options).filter(([option]) => option in TASK_FLAGS));
}

/** `10/1m`: ten per minute. */
function rateOf(text: string): NonNullable<SharedTaskOptions['rate']> {
  const [, count = '', per = ''] = /^(\d+)\/(\d+[a-z]+)$/.exec(text) ?? [];
  if (count === '') throw new InvalidArgumentError('must be a number and a span, such as 10/1m');
  return { count: Number(count), per: checked(() => durationMs('the span', per as Duration)) };
}
