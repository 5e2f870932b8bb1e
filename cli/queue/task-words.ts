/** Words for a task's state, its due time, and its holder's state. */
import { judgeSession } from '../../shared/session/session-record.ts';
import type { SessionRecord } from '../../shared/session/session-record.ts';
import { NEVER } from '../../shared/tasks/task/batch.ts';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import { relative } from '../output.ts';

/** A task that waits is ready once it is due. */
export function stateOf(task: TaskRecord, now: number): string {
  return task.state === 'ready' && task.readyAt > now ? 'delayed' : task.state;
}

/** Like `stateOf`, but also says what a parent waits for. */
export function stateText(task: TaskRecord, now: number): string {
  return waitsForChildren(task) ? 'waits for children' : stateOf(task, now);
}

export function dueText(task: TaskRecord, now: number): string {
  if (!('readyAt' in task)) return '';
  return waitsForChildren(task) ? 'when its children have ended' : relative(task.readyAt, now);
}

/** Describes the session that runs a task. If it has ended, says that the task waits to be taken over. */
export function holderText(
  id: string,
  session: SessionRecord | undefined,
  { now, maxClockSkewMs }: { readonly now: number; readonly maxClockSkewMs: number },
): string {
  const { kind } = judgeSession(session, now, maxClockSkewMs);
  if (kind === 'live' || kind === 'damaged') return id;
  const expiresAt = session?.status === 'live' ? session.expiresAt : null;
  const end = expiresAt === null ? 'ended' : `expired ${relative(expiresAt, now)}`;
  return `${id}, ${end}: a worker that looks takes the task over`;
}

function waitsForChildren(task: TaskRecord): boolean {
  return task.state === 'ready' && task.readyAt === NEVER && task.children !== undefined;
}
