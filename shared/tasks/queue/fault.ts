/** `faultOf` names the fault that ended a task, so that tasks with the same fault can be counted and retried together. */
import type { TaskRecord } from '../task/task.ts';

/** Long enough to distinguish faults, short enough for one line. */
const FAULT_LIMIT_CHARACTERS = 120;

/**
 * Returns the name and the first line of the task's last error, with `#` in place of numbers and ids:
 * `Error: invoice 107 has no address` and `Error: invoice 108 has no address` are one fault.
 */
export function faultOf({ lastError }: Pick<TaskRecord, 'lastError'>): string {
  if (lastError === undefined) return 'no error kept';
  const [line = ''] = lastError.message.split('\n');
  return `${lastError.name}: ${line.replaceAll(VARIABLE, '#')}`.slice(0, FAULT_LIMIT_CHARACTERS);
}

/** A run of eight or more hexadecimal digits and dashes that holds a digit, or a number. */
const VARIABLE = /\b(?=[\da-f-]*\d)[\da-f-]{8,}\b|\d+(?:[.,:]\d+)*/gi;
