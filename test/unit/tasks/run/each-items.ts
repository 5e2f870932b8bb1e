/** A queue with one task, whose code goes through its input with `task.each`. */
import type { EachOptions, TaskContext } from '../../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { openMemoryQueue } from '../../../support/memory-queue.ts';

export type Items = readonly number[];
export const numbers = (count: number): Items => Array.from({ length: count }, (_, n) => n);
export const RETRY = { backoff: 0, maxAttempts: 10 } as const;

/** @param code of an item */
export function openItems(
  code: (n: number, task: TaskContext) => unknown,
  options: EachOptions = {},
  after?: (results: unknown, task: TaskContext) => unknown,
) {
  const q = openMemoryQueue();
  const task = defineTask({
    name: 'task',
    retry: RETRY,
    async run(items: Items, context) {
      const results = await context.each(items, (n) => code(n, context), options);
      return after === undefined ? results : after(results, context);
    },
  });
  const found = async () => {
    const row = await q.client.get('t');
    if (row === undefined) throw new Error('there is no task');
    return row;
  };
  const states = async () => ((await found()).progress as { readonly each: string } | undefined)?.each;
  return { q, task, found, states, add: (items: Items) => q.client.enqueue(task, items, { id: 't' }) };
}
