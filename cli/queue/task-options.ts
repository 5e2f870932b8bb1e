/** The flags for a task's options, for all commands that create tasks. */
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { Duration } from '../../shared/core/validate/duration.ts';
import { durationMs } from '../../shared/core/validate/duration.ts';
import { MAX_ATTEMPTS_LIMIT } from '../../shared/tasks/task/bounds.ts';
import { DUPLICATE_POLICIES } from '../../shared/tasks/task/dedup.ts';
import type { EnqueueOptions, OptionsIn } from '../../shared/tasks/task/task-request.ts';
import { PRIORITIES } from '../../shared/tasks/task/task.ts';
import { checked } from '../../local/arguments.ts';
import { name, spanOption, when, wholeNumber } from '../arguments.ts';

/** The values as commander parses them, by option name. */
export type TaskFlags = OptionsIn<'command'>;

const flags = (): Readonly<Record<keyof TaskFlags, Option>> => ({
  id: new Option('--id <id>', 'its id: adding it again changes nothing').argParser(name),
  delay: new Option('--delay <when>', 'when it is due: 10m from now, or at 2027-01-31T08:00:00Z').argParser(when),
  onDuplicate: new Option('--on-duplicate <policy>', 'what happens when its id is taken').choices(DUPLICATE_POLICIES),
  window: spanOption('--window <span>', 'how long after its creation the id of an ended task still counts as taken'),
  maxWait: spanOption(
    '--max-wait <span>',
    'with --on-duplicate debounce: the longest time for which requests postpone it',
  ),
  priority: new Option('--priority <priority>', 'its priority').choices(PRIORITIES),
  expires: new Option(
    '--expires <when>',
    'discard it if it has not started: 1h after it is due, or at a time',
  ).argParser(when),
  label: new Option('--label <text>', 'what people call it, such as "order o-7"').argParser(name),
  maxAttempts: new Option('--max-attempts <n>', "maximum number of attempts (default: its definition's)").argParser(
    wholeNumber(1, MAX_ATTEMPTS_LIMIT),
  ),
  timeout: spanOption('--timeout <span>', "maximum duration of an attempt (default: its definition's)"),
  key: new Option('--key <key>', 'the key of --limit, --rate and --ordered').argParser(name),
  limit: new Option('--limit <n>', 'maximum number of tasks of the key that run at once').argParser(wholeNumber(1)),
  rate: new Option(
    '--rate <n/span>',
    'maximum number of tasks of the key that start in each window, such as 10/1m',
  ).argParser(rateOf),
  ordered: new Option(
    '--ordered',
    'run the ordered tasks of the key one at a time, in the order in which they are enqueued',
  ),
  tenant: new Option('--tenant <tenant>', 'its tenant: workers serve tenants round robin').argParser(name),
});

/** The flag of each option, such as `maxAttempts: '--max-attempts'`. */
export const TASK_FLAGS = Object.fromEntries(
  Object.entries(flags()).map(([option, { long }]) => [option, String(long)]),
) as Readonly<Record<keyof TaskFlags, string>>;

/** Adds the flags of a task's options. @param names Default: all of them */
export function withTaskFlags(command: Command, names: readonly string[] = Object.keys(TASK_FLAGS)): Command {
  for (const [option, flag] of Object.entries(flags())) if (names.includes(option)) command.addOption(flag);
  return command;
}

/** Returns the command options that are task options. */
export function taskOptionsOf<Options extends TaskFlags>(
  options: Options,
): Pick<Options, keyof Options & keyof TaskFlags> {
  const given = Object.entries(options).filter(([option]) => option in TASK_FLAGS);
  return Object.fromEntries(given) as Pick<Options, keyof Options & keyof TaskFlags>;
}

/** `10/1m`: ten per minute. */
function rateOf(text: string): NonNullable<EnqueueOptions['rate']> {
  const [, count = '', per = ''] = /^(\d+)\/(\d+[a-z]+)$/.exec(text) ?? [];
  if (count === '') throw new InvalidArgumentError('must be a number and a span, such as 10/1m');
  return { count: Number(count), per: checked(() => durationMs('the span', per as Duration)) };
}
