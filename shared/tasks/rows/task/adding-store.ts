/** What clients that only add tasks need of the tasks' store: apart, so that their bundles stay small. */
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { AddingStore, Begun } from '../../queue/task-adder.ts';
import type { TakenTask } from '../../task/dedup.ts';
import type { TaskKey } from '../../task/task.ts';
import { describeTask } from '../../task/task.ts';
import type { Contended } from '../../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../../core/wait/retry-contended.ts';
import type { DynamoItem } from '../../../dynamo/engine/driver.ts';
import { outcomeOf } from '../../../dynamo/engine/outcomes.ts';
import { Rows } from '../../../dynamo/engine/rows.ts';
import type { Sender, WriteResult } from '../../../dynamo/engine/send.ts';
import type { Statement } from '../../../dynamo/engine/statement.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import { together, tokenOf } from '../../../dynamo/engine/transaction.ts';
import { payloadOf } from './effects.ts';
import type { Seat } from './task-statements.ts';
import { enqueueTask, readTask } from './task-statements.ts';

/** A task that is created, or starts over. */
export type Beginner = TaskKey & { readonly tenant?: string | undefined; readonly line?: string | undefined };

/** Writes a task that begins, together with what it needs beside it. */
export type Begin = (
  task: Beginner,
  write: (seat?: Seat) => Statement<'put' | 'update'>,
  beside: readonly Action[],
  stamp: Stamp,
) => Promise<WriteResult>;

/** Each time another writer succeeded: a line that moves on so often while it is looked at is a queue of its own. */
export const LINE_CONTENTION = { rounds: 50 };

/**
 * @param decode what is to be known of a task that is there
 * @param begin absent: of tasks that stand in no line
 */
export function createAddingStore<Row extends TakenTask>(
  sender: Sender,
  { table, shards }: { readonly table: string; readonly shards: number },
  decode: (item: DynamoItem) => Row,
  begin: Begin = beginAlone(sender),
): AddingStore<Row> {
  return {
    async enqueue(task, stamp) {
      let written: DynamoItem | undefined;
      const write = (seat?: Seat): Statement<'put'> => {
        const statement = enqueueTask(table, task, shards, stamp, seat);
        written = statement.input.Item;
        return statement;
      };
      const result = await begin(task, write, payloadOf(table, task, stamp), stamp);
      return outcomeOf(result, (item) => decode(item) as Begun<Row>, decode, written);
    },

    get: ({ queue, id }) => new Rows(sender, decode).get(readTask(table, queue, id)),
  };
}

function beginAlone(sender: Sender): Begin {
  return (task, write, beside, stamp) =>
    retryContended(lineOf(task), LINE_CONTENTION, () => writeTogether(sender, write(), beside, stamp));
}

export async function writeTogether(
  sender: Sender,
  statement: Statement<'put' | 'update'>,
  actions: readonly Action[],
  stamp: Stamp,
): Promise<WriteResult | Contended> {
  if (actions.length === 0) return sender.write(statement, stamp.nonce);
  const result = await sender.transact(together(statement, actions, tokenOf(stamp, actions)), stamp.nonce);
  return result.kind === 'canceled' ? contended(result) : result;
}

export function lineOf(task: TaskKey): string {
  return `${describeTask(task)}: the line of its key`;
}
