/** A task's line in a list. */
import { isSuspended } from '../../../cli/queue/task-words.ts';
import { NEVER } from '../../../shared/tasks/task/batch.ts';
import type { TaskRecord } from '../../../shared/tasks/task/task.ts';
import type { TaskLine } from '../../model.ts';

const ERROR_SHOWN = 160;

export function lineOf(task: TaskRecord, now: number): TaskLine {
  const { id, name, state, priority, attempts, claimedAt, session, lastError, cancellation } = task;
  return {
    id,
    name,
    state,
    priority,
    attempts,
    claimedAt,
    session,
    readyAt: 'readyAt' in task ? task.readyAt : undefined,
    finishedAt: 'finishedAt' in task ? task.finishedAt : undefined,
    lastError: lastError === undefined ? undefined : `${lastError.name}: ${lastError.message}`.slice(0, ERROR_SHOWN),
    isCancelling: state === 'running' && cancellation !== undefined,
    tenant: task.tenant,
    label: task.label,
    isInLine: task.state === 'ready' && task.links?.line !== undefined,
    waitsForChildren: isWaiting(task),
    ...(isSuspended(task, now) && { isSuspended: true }),
  };
}

/** Whether it waits for the end of its children: it is due when the last of them ends, and not before. */
export function isWaiting(task: TaskRecord): boolean {
  return task.state === 'ready' && task.children !== undefined && task.readyAt === NEVER;
}
