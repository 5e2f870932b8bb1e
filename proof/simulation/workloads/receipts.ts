/** The writes of a simulated task's commit in the user's own table. */
import type { Committed, TaskContext } from '../../../shared/tasks/task/context.ts';
import { CommitRefusedError, RetryAfter } from '../../../shared/tasks/task/control.ts';
import type { TaskRequest } from '../../../shared/tasks/task/task-request.ts';
import type { UserWrite } from '../../../shared/tasks/task/task-store.ts';
import type { SimulatedProcess } from '../../../test/support/machines/process.ts';
import type { RightName } from '../history.ts';
import type { Recorder } from '../recorder.ts';
import { USER_TABLE } from '../rows.ts';

/** The environment of the code that commits. */
interface Place {
  readonly process: SimulatedProcess;
  readonly recorder: Recorder;
  readonly slowMs: number;
  readonly restock: () => void;
}

/** Takes one from the stock and leaves a receipt, in one commit; tries again later when there is none. */
export async function commitReceipt(
  { process, recorder, slowMs, restock }: Place,
  task: TaskContext,
  right: RightName,
  { half, version = 0 }: { readonly half: number; readonly version?: number },
  next: readonly TaskRequest[] = [],
): Promise<Committed> {
  try {
    return await commit({ process, recorder }, task, right, receiptWrites(`${task.id}-${half}.${version}`), next);
  } catch (error) {
    if (!(error instanceof CommitRefusedError)) throw error;
    recorder.emit({ kind: 'denied', at: process.now, process: process.name, ...right });
    // Some code orders one and continues. A late copy of its request would find that one.
    if (task.attempt % 2 === 1) {
      restock();
      await process.runtime.clock.sleep(slowMs, task.signal);
    }
    // Out of stock: the same commit may go through later,
    // and then it must be this attempt's retry that does it, not a copy of this request.
    throw new RetryAfter(300, 'out of stock', { cause: error });
  }
}

/** Ends the task and creates its successor, in one commit without other writes. */
export function commitSuccessor(
  place: Pick<Place, 'process' | 'recorder'>,
  task: TaskContext,
  right: RightName,
  next: TaskRequest,
): Promise<Committed> {
  return commit(place, task, right, [], [next]);
}

async function commit(
  { process, recorder }: Pick<Place, 'process' | 'recorder'>,
  task: TaskContext,
  right: RightName,
  writes: readonly UserWrite[],
  next: readonly TaskRequest[],
): Promise<Committed> {
  const result = { token: right.token };
  recorder.emit({ kind: 'ended', at: process.now, process: process.name, ...right });
  const committed = await task.commit(result, writes, { spawn: next });
  const value = JSON.stringify(result);
  recorder.emit({
    kind: 'acknowledged',
    at: process.now,
    process: process.name,
    what: 'committed',
    row: right.row,
    value,
  });
  return committed;
}

function receiptWrites(name: string): readonly UserWrite[] {
  return [
    {
      Update: {
        TableName: USER_TABLE,
        Key: { id: `receipt-${name}` },
        UpdateExpression: 'ADD #count :one',
        ExpressionAttributeNames: { '#count': 'count' },
        ExpressionAttributeValues: { ':one': 1 },
      },
    },
    TAKE_FROM_STOCK,
  ];
}

export const TAKE_FROM_STOCK: UserWrite = {
  Update: {
    TableName: USER_TABLE,
    Key: { id: 'stock' },
    UpdateExpression: 'SET #stock = #stock - :one',
    ConditionExpression: '#stock >= :one',
    ExpressionAttributeNames: { '#stock': 'stock' },
    ExpressionAttributeValues: { ':one': 1 },
  },
};
