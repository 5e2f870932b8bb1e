/** The tasks of the storm. All effects go through `commit`, into a table that counts and lists them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DoNotRetry } from '../../../shared/tasks/task/control.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import type { UserWrite } from '../../../shared/tasks/task/task-store.ts';
import { BOOK } from './storm-tables.ts';

/** Far more than faults can use up. */
const retry = { maxAttempts: 1_000, backoff: '100ms', backoffCap: '1s' } as const;

export const plain = defineTask({
  name: 'plain',
  retry,
  run: (_: unknown, task) => worked(task, 150).then(() => task.commit(null, [counted(task.id)])),
});

/** Sometimes fails permanently, and is retried. */
export const fragile = defineTask({
  name: 'fragile',
  retry,
  async run(_: unknown, task) {
    await worked(task, 80);
    if (Math.random() < 0.3) throw new DoNotRetry('fragile');
    return task.commit(null, [counted(task.id)]);
  },
});

/** One line for each step of a key in strict order. */
export const step = defineTask({
  name: 'step',
  retry,
  async run({ line }: { readonly line: string }, task) {
    await worked(task, 60);
    return task.commit(null, [counted(task.id), listed(`line/${line}`, task.id)]);
  },
});

/** Sometimes fails permanently after its children have ended. */
export const parent = defineTask({
  name: 'parent',
  retry,
  async run(_: unknown, task) {
    await worked(task, 50);
    if (task.children === undefined)
      return task.waitFor([1, 2, 3].map((child) => spawn(plain, null, { id: `${task.id}/c${child}` })));
    if (Math.random() < 0.3) throw new DoNotRetry('phase two');
    return task.commit(null, [counted(task.id), listed(`children/${task.id}`, countsOf(task))]);
  },
});

/** Follows a batch. */
export const publish = defineTask({
  name: 'publish',
  retry,
  async run({ batch }: { readonly batch: string }, task) {
    await worked(task, 30);
    return task.commit(null, [counted(task.id), listed(`children/${batch}`, countsOf(task))]);
  },
});

/** Takes two seconds, so that requests for its id meet it running. */
export const index = defineTask({
  name: 'index',
  retry,
  async run({ version }: { readonly version: number }, task) {
    await sleep(2_000, undefined, { signal: task.signal });
    return task.commit(null, [listed(`index/${task.id}`, version)]);
  },
});

export const nap = defineTask({
  name: 'nap',
  retry,
  async run(_: unknown, task) {
    await worked(task, 50);
    if (task.progress !== undefined) return task.commit(null, [counted(task.id)]);
    await task.saveProgress({ napped: true });
    return task.snooze('300ms');
  },
});

async function worked(task: TaskContext, mostMs: number): Promise<void> {
  await sleep(Math.random() * mostMs, undefined, { signal: task.signal });
  if (Math.random() < 0.04) throw new Error('stumbled');
}

function countsOf({ children }: TaskContext): string {
  const { total, pending, done, dead, cancelled } = children ?? { total: 0 };
  return JSON.stringify({ total, pending, done, dead, cancelled });
}

function counted(id: string): UserWrite {
  return {
    Update: {
      TableName: BOOK,
      Key: { id: `effect/${id}` },
      UpdateExpression: 'ADD effects :one',
      ExpressionAttributeValues: { ':one': 1 },
    },
  };
}

function listed(id: string, entry: unknown): UserWrite {
  return {
    Update: {
      TableName: BOOK,
      Key: { id },
      UpdateExpression: 'SET entries = list_append(if_not_exists(entries, :none), :entry)',
      ExpressionAttributeValues: { ':none': [], ':entry': [entry] },
    },
  };
}
