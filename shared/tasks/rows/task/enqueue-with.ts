/** Creates a task in one transaction with writes of its caller. It shares no transaction with others, since two may write one row. */
import { StoreUnavailableError } from '../../../core/errors.ts';
import type { Stamp } from '../../../core/lease/stamp.ts';
import { contended, retryContended } from '../../../core/wait/retry-contended.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import type { Sender, WriteResult } from '../../../dynamo/engine/send.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import { isBlind, together, tokenOf } from '../../../dynamo/engine/transaction.ts';
import type { CanceledEffects, NewTask, UserWrite } from '../../task/task-store.ts';
import type { TaskKey } from '../../task/task.ts';
import { describeTask } from '../../task/task.ts';
import { isFinal } from '../../task/user-writes.ts';
import { barTask, isBarredBy } from './bar-statements.ts';
import type { Seat } from './task-statements.ts';

/** Its place in its line, and the line's change. @param seen the line's row as a refusal has shown it, instead of a read */
export type Seating = (
  task: TaskKey & { readonly line: string },
  stamp: Stamp,
  seen: DynamoItem | undefined,
) => Promise<{ readonly seats: readonly Seat[]; readonly actions: readonly Action[] }>;

interface EnqueueWith {
  readonly table: string;
  readonly task: TaskKey & Pick<NewTask, 'line'>;
  /** The write of the new task. */
  readonly plan: (seat?: Seat) => { readonly own: Statement<'put'> };
  /** Absent: the caller accepts no task that joins a line. */
  readonly seating?: Seating | undefined;
  readonly writes: readonly UserWrite[];
}

export function enqueueWith(
  sender: Sender,
  { table, task, plan, seating, writes }: EnqueueWith,
  stamp: Stamp,
): Promise<WriteResult | CanceledEffects> {
  const { line } = task;
  let seen: DynamoItem | undefined;
  return retryContended(describeTask(task), sender.patience, async ({ earlierAttempt: before, isAfterPause }) => {
    if (isAfterPause) seen = undefined;
    const joining = line === undefined ? undefined : await seating?.({ ...task, line }, stamp, seen);
    const { own } = plan(joining?.seats[0]);
    const inLine = joining?.actions ?? [];
    const others = [...inLine, ...writes];
    const transaction = together(own, others, tokenOf(stamp, others));
    const isStaleAfterConflict = joining !== undefined;
    const result = await sender.transact(transaction, stamp.nonce, {}, { isStaleAfterConflict });
    const earlierAttempt = before === 'unknown' ? before : result.earlierAttempt;
    if (result.kind !== 'canceled') return { ...result, earlierAttempt };
    const reasons = writes.map((effect, nth) => ({
      code: 'None',
      ...result.reasons[1 + inLine.length + nth],
      effect,
    }));
    if (!reasons.some(isFinal)) {
      seen = inLine.length > 0 ? result.reasons[1]?.item : undefined;
      return contended(result, { isBlind: isBlind(result) });
    }
    const instead = earlierAttempt === 'unknown' ? await barred(sender, table, task, stamp.nonce) : undefined;
    if (instead !== undefined) return { kind: 'refused', item: instead, earlierAttempt };
    return { kind: 'canceled', reasons };
  });
}

/** Raises the bar. Returns the existing task, which may come from an earlier attempt. */
async function barred(sender: Sender, table: string, task: TaskKey, nonce: string): Promise<DynamoItem | undefined> {
  let seen: DynamoItem | undefined;
  try {
    return await retryContended(describeTask(task), sender.patience, async () => {
      const result = await sender.write(barTask(table, task, nonce, seen), nonce);
      if ((result.kind === 'applied' && !result.late) || isBarredBy(result.item, nonce)) return undefined;
      if (result.item !== undefined && result.item.barred === undefined) return result.item;
      seen = result.item;
      return contended(result);
    });
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const found =
      'a write of its caller was refused, but the store did not confirm that no copy of it can be applied later';
    throw new StoreUnavailableError(`${describeTask(task)}: ${found}`, { applied: 'unknown', cause: error });
  }
}
