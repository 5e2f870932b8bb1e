/**
 * External events for an operation of a durable task: the answer of a callback, or the end of a child.
 *
 * | size | stored in |
 * | --- | --- |
 * | up to 1 KB | the element in the task's row |
 * | more | a separate row, written in the same transaction: thirty children with large results would not fit into the task's row |
 */
import { utf8Bytes } from '../../core/runtime/bytes.ts';
import type { ChildEnding } from '../task/batch.ts';
import type { Json, TaskError } from '../task/task.ts';
import type { Entry, OperationError } from './entry.ts';
import { operationOf } from './entry.ts';
import type { Arrival } from './journal-store.ts';

/** The result and the error of an arrival in a separate row. */
type Content = Pick<Entry, 'r' | 'e'>;

const IN_ROW_BYTES = 1_024;
/** Name of the error of an execution that took longer than its `executionTimeout`, in the SDK's words. */
export const EXECUTION_TIMED_OUT = 'Execution.TimedOut';

/** @param nonce tells this arrival from any other */
export function arrivalOf(
  openKey: string,
  entry: Pick<Entry, 'a' | 'r' | 'e'>,
  { now, nonce }: { readonly now: number; readonly nonce: string },
): Arrival {
  const { a, ...content } = entry;
  const text = JSON.stringify(content);
  const isApart = utf8Bytes(text) > IN_ROW_BYTES;
  const whole: Entry = { a, ...(isApart ? { l: openKey } : content), i: operationOf(openKey), t: now };
  return { openKey, element: JSON.stringify({ o: nonce, e: [whole] }), content: isApart ? text : undefined };
}

/** The entry with its result from the separate row. @throws when the row is gone */
export function entryWithContent(entry: Entry, contents: ReadonlyMap<string, string>): Entry {
  const { l, ...rest } = entry;
  if (l === undefined) return entry;
  const text = contents.get(l);
  if (text === undefined) throw new Error(`the row of what arrived for operation ${entry.i} is gone`);
  return { ...rest, ...(JSON.parse(text) as Content) };
}

/** The end of a child, for the task that waits for it. */
export function endOfChild(
  to: ChildEnding,
  { result, error }: { readonly result?: Json | undefined; readonly error?: TaskError | undefined },
): Pick<Entry, 'a' | 'r' | 'e'> {
  if (to === 'done') return { a: 'succeed', ...(result === undefined ? {} : { r: JSON.stringify(result) }) };
  const e: OperationError =
    error === undefined
      ? { ErrorMessage: `the task was ${to}` }
      : { ErrorType: error.name, ErrorMessage: error.message };
  if (to === 'cancelled') return { a: 'stop', e };
  return { a: error?.name === EXECUTION_TIMED_OUT ? 'timeout' : 'fail', e };
}
