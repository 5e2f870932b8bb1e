/** Words for a task's state, its due time, and its holder's state. */
import { judgeSession } from '../../shared/session/session-record.ts';
import type { SessionRecord } from '../../shared/session/session-record.ts';
import { NEVER } from '../../shared/tasks/task/batch.ts';
import type { ReadyTask, TaskRecord } from '../../shared/tasks/task/task.ts';
import { plural, relative } from '../output.ts';

/** A waiting task is ready once it is due. A waiting durable task is suspended. */
export function stateOf(task: TaskRecord, now: number): string {
  if (isSuspended(task, now)) return 'suspended';
  return task.state === 'ready' && task.readyAt > now ? 'delayed' : task.state;
}

/** Like `stateOf`, but also says what a parent or a durable task waits for. */
export function stateText(task: TaskRecord, now: number): string {
  if (waitsForChildren(task)) return 'waits for children';
  const open = task.journal?.open.size ?? 0;
  const state = stateOf(task, now);
  return state !== 'suspended' || open === 0
    ? state
    : `suspended, waits for ${plural(open, 'answer or task', 'answers or tasks')}`;
}

export function dueText(task: TaskRecord, now: number): string {
  if (!('readyAt' in task)) return '';
  if (waitsForChildren(task)) return 'when its children have ended';
  const at = relative(task.readyAt, now);
  return isSuspended(task, now) && task.journal?.open.size !== 0 ? `${at}, or when it is answered` : at;
}

/** Describes what a due task of a key waits for. */
export function waitsForKey({ links }: Pick<ReadyTask, 'links'>): string {
  const { key, limit, rate } = links?.concurrency ?? {};
  const atATime = `${limit} at a time`;
  return `waits for a place of its key ${key}, which has ${rate === undefined ? atATime : `${atATime} and a rate`}`;
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
  return `${id}, ${end}: the next worker that polls takes it over`;
}

/** A durable task that waits, and not because an attempt failed. */
export function isSuspended(task: TaskRecord, now: number): boolean {
  const { state, journal, failingSince } = task;
  return state === 'ready' && journal !== undefined && failingSince === undefined && task.readyAt > now;
}

function waitsForChildren(task: TaskRecord): boolean {
  return task.state === 'ready' && task.readyAt === NEVER && task.children !== undefined;
}
