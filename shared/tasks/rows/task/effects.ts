/** The writes that create a task. */
import type { Stamp } from '../../../core/lease/stamp.ts';
import type { NewTask } from '../../task/task-store.ts';
import { putPayload } from '../payload-statements.ts';
import type { Seat } from './task-statements.ts';
import { enqueueTask } from './task-statements.ts';
import type { Action } from '../../../dynamo/engine/transaction.ts';
import { actionOf } from '../../../dynamo/engine/transaction.ts';

/** A task's row, and its payload's row if it has one. */
export function creationOf(
  { table, shards }: { readonly table: string; readonly shards: number },
  task: NewTask,
  stamp: Stamp,
  seat?: Seat,
): Action[] {
  return [actionOf(enqueueTask(table, task, shards, stamp, seat)), ...payloadOf(table, task, stamp)];
}

export function payloadOf(table: string, task: NewTask, { nonce }: Stamp, isApart = false): Action[] {
  const { payload } = task;
  if (payload === undefined || payload.reference !== undefined) return [];
  return [actionOf(putPayload(table, task, payload.text, { nonce, isApart }))];
}
