/** Builders for tests about tasks: each test says only what matters to it. */
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import type { Stamp } from '../../shared/core/lease/write.ts';
import type { NewTask, SequencedStamp, TaskStore } from '../../shared/tasks/task/task-store.ts';
import type { Claim, ReadyTask, RunningTask, TaskRecord } from '../../shared/tasks/task/task.ts';

export function newTask(changes: Partial<NewTask> = {}): NewTask {
  const id = systemRuntime.ids.unique();
  return { queue: 'q', id, name: 'work', input: { n: 1 }, priority: 'normal', runAt: 0, ...changes };
}

export function stamp({ clock, ids }: Runtime = systemRuntime): Stamp {
  return { now: clock.now(), nonce: ids.unique() };
}

/** Stamp of a claim's numbered write, such as its first commit. */
export function numbered(sequence = 1): SequencedStamp {
  return { ...stamp(), sequence };
}

/** Whether a task is ready, and its turn in its line has not come. */
export async function waitsInLine(store: TaskStore, task: TaskRecord | undefined): Promise<boolean> {
  const line = task?.links?.line;
  if (task?.state !== 'ready' || line === undefined) return false;
  const turns = await store.getTurns(task.queue, [line.key], { isConsistent: true });
  return line.ticket > (turns.get(line.key) ?? 0);
}

export async function enqueued(store: TaskStore, changes: Partial<NewTask> = {}): Promise<ReadyTask> {
  const outcome = await store.enqueue(newTask(changes), stamp());
  if (outcome.kind === 'refused') throw new Error('the task was there already');
  return outcome.row;
}

export async function claimed(
  store: TaskStore,
  session = 'session-1',
  changes: Partial<NewTask> = {},
): Promise<RunningTask> {
  const outcome = await store.claim(await enqueued(store, changes), session, stamp());
  if (outcome.kind === 'refused') throw new Error('the claim was refused');
  return outcome.row;
}

export function claimOf({ queue, id, priority, session, leaseCounter }: RunningTask): Claim {
  return { queue, id, priority, session, leaseCounter };
}
