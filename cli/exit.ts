/**
 * Exit codes: one table for all commands, printed with `leasehold --help`.
 * An error takes at most two lines on the screen; with `--json` it is one JSON object on standard error.
 */
import { isMissingTable, missingTable } from '../shared/dynamo/engine/missing-table.ts';
import {
  ClockSkewError,
  ConfigurationError,
  MismatchError,
  StoreUnavailableError,
  messageOf,
} from '../shared/core/errors.ts';
import type { StandardIssue } from '../shared/core/validate/standard-schema.ts';
import { InvalidInputError } from '../shared/tasks/task/control.ts';
import { LockUnavailableError } from '../shared/coordination/lock/lock-record.ts';
import type { TaskKey } from '../shared/tasks/task/task.ts';
import { describeTask } from '../shared/tasks/task/task.ts';

export const EXIT = {
  done: 0,
  /** The command ran, and its result is negative. */
  failed: 1,
  usage: 2,
  unavailable: 3,
  notFound: 4,
  refused: 5,
  /** EX_TEMPFAIL: try again later. */
  notAcquired: 75,
  lost: 76,
  cannotExecute: 126,
  commandNotFound: 127,
} as const;

export type ExitCode = number;

/** A shell's exit code for a process that a signal ended. */
export function exitCodeOfSignal(signalNumber: number): ExitCode {
  return 128 + signalNumber;
}

export const EXIT_CODE_HELP = `Exit codes:
    0  done
    1  a check failed, input lines were rejected, a task failed, or an unexpected error
    2  an option, an argument or the environment is wrong; nothing was done
    3  the store could not be reached, or did not answer in time
    4  there is no such task, queue, session, lock or semaphore
    5  refused: the lock is held, or the row changed since you read it
  'leasehold run' only; otherwise it returns the program's exit code (128 + n if signal n ended it):
   75  lock, leadership or permit not acquired; the command was not started
   76  the lease was lost; the command was stopped
  126  the command could not be executed
  127  there is no such command
  130  interrupted before the command was started`;

/** Thrown by commands that have already reported the failure. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export function notFound(what: string, hint: string): CommandError {
  return new CommandError(EXIT.notFound, `there is no ${what}: ${hint}`);
}

/** The object has changed since the caller saw it. */
export function refused(why: string): CommandError {
  return new CommandError(EXIT.refused, `${why}; nothing was done`);
}

export function taskNotFound(key: TaskKey): CommandError {
  return notFound(describeTask(key), 'finished tasks are deleted 14 days after they end');
}

interface Failure {
  readonly exitCode: ExitCode;
  readonly message: string;
  /** The issues of an input that a task's schema refuses. */
  readonly issues?: readonly Issue[];
  /** An unexpected error: a bug report needs more than its message. */
  readonly stack?: string;
}

interface Issue {
  readonly message: string;
  readonly path: readonly (string | number)[];
}

/** Without what else a schema adds, which may be no JSON. */
function issueOf({ message, path = [] }: StandardIssue): Issue {
  const keys = path.map((part) => (typeof part === 'object' ? part.key : part));
  return { message, path: keys.map((key) => (typeof key === 'symbol' ? String(key) : key)) };
}

/** The exit code and message for anything thrown. */
export function failureOf(thrown: unknown, table: string): Failure {
  const message = messageOf(thrown);
  // It names the missing table, which may be the user's own.
  if (thrown instanceof InvalidInputError) return { exitCode: EXIT.usage, message, issues: thrown.issues.map(issueOf) };
  if (thrown instanceof ConfigurationError) return { exitCode: EXIT.usage, message };
  if (isMissingTable(thrown)) return { exitCode: EXIT.usage, message: `${missingTable(table)} with --table` };
  if (thrown instanceof CommandError) return { exitCode: thrown.exitCode, message };
  if (thrown instanceof StoreUnavailableError) return { exitCode: EXIT.unavailable, message };
  if (thrown instanceof MismatchError || thrown instanceof ClockSkewError) return { exitCode: EXIT.refused, message };
  if (thrown instanceof LockUnavailableError) return { exitCode: EXIT.notAcquired, message };
  const failure = { exitCode: EXIT.failed, message };
  return thrown instanceof Error && thrown.stack !== undefined ? { ...failure, stack: thrown.stack } : failure;
}
