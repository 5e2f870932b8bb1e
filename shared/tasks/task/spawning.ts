/** Checks the limits of tasks that a transaction creates, for each task and for all together. @throws ConfigurationError */
import { ConfigurationError } from '../../core/errors.ts';
import type { NewTask } from './task-store.ts';
import type { Claim } from './task.ts';
import { describeTask } from './task.ts';

/** DynamoDB's limit; one of the actions is the parent's own. As many tasks stay below its limit of bytes: large inputs have other rows. */
export const TRANSACTION_ACTIONS_LIMIT = 100;

/** @param writes other writes in the same transaction, in addition to the parent's */
export function ensureSpawnable(parent: Claim, children: readonly NewTask[], writes: number): void {
  const key = describeTask(parent);
  const ids = new Set([idOf(parent)]);
  for (const child of children) {
    ensureTransactable(child, `spawned by ${key}`);
    if (ids.has(idOf(child)))
      throw new ConfigurationError(
        `${key} spawns ${describeTask(child)}, which is itself or named twice: use a different id for each task`,
      );
    ids.add(idOf(child));
  }
  const actions = 1 + writes + children.length;
  if (actions > TRANSACTION_ACTIONS_LIMIT)
    throw new ConfigurationError(
      `${key} would end with ${plural(writes, 'write')} and ${plural(children.length, 'task')}, ` +
        `which take ${actions} actions with its own: ` +
        `one transaction takes ${TRANSACTION_ACTIONS_LIMIT}; write or spawn less at once`,
    );
}

/** Children are counted in their parent's queue. A waiting parent still blocks its own line. */
export function ensureAwaitable(parent: Claim, children: readonly NewTask[]): void {
  const stranger = children.find(({ queue }) => queue !== parent.queue);
  if (stranger !== undefined)
    throw new ConfigurationError(
      `${describeTask(parent)} would wait for ${describeTask(stranger)}: the children that a ` +
        'task waits for are of its own queue, leave the queue out',
    );
  const line = parent.links?.line?.key;
  const behind = children.find((child) => line !== undefined && child.line === line);
  if (behind !== undefined)
    throw new ConfigurationError(
      `${describeTask(parent)} would wait for ${describeTask(behind)}, which would wait behind it ` +
        `in the line of key ${line}, so neither could continue: ` +
        `give the child another key, or spawn it in the commit of its parent`,
    );
}

/** If an id is taken, the caller must read the task that has it. A transaction cannot do that: it is applied or refused. */
export function ensureTransactable({ id, queue, dedup }: NewTask, how: string): void {
  const { policy = 'reject', windowMs } = dedup ?? {};
  if (policy === 'reject' && windowMs === undefined) return;
  const option = policy === 'reject' ? `window = ${windowMs} ms` : `onDuplicate = ${policy}`;
  throw new ConfigurationError(
    `${describeTask({ queue, id })} is ${how} with ${option}: a transaction is refused when the id is ` +
      'taken; leave the option out, or enqueue the task by itself',
  );
}

function idOf({ queue, id }: { readonly queue: string; readonly id: string }): string {
  return JSON.stringify([queue, id]);
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
