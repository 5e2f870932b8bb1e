/** What happened to a task, moment by moment, as far as its row and the sessions of its workers are kept. */
import type { SessionRecord } from '../../shared/session/session-record.ts';
import { NEVER } from '../../shared/tasks/task/batch.ts';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import { tableText } from '../listing.ts';
import { momentAndAge, shortened, span } from '../output.ts';

export type Sessions = ReadonlyMap<string, Pick<SessionRecord, 'name' | 'node' | 'codeVersion'>>;

interface Moment {
  readonly at: number;
  readonly what: string;
  readonly details?: string | undefined;
}

export function timeLineText(task: TaskRecord, sessions: Sessions, now: number): string {
  return tableText(momentsOf(task, sessions, now), {
    'time line': ({ at }) => momentAndAge(at, now),
    '': ({ what }) => what,
    details: ({ details = '' }) => shortened(details, 100),
  });
}

function momentsOf(task: TaskRecord, sessions: Sessions, now: number): readonly Moment[] {
  const { state, session, claimedAt, leaseCounter, attempts, cancellation } = task;
  const past = task.past.filter((attempt) => state === 'ready' || attempt.leaseCounter !== leaseCounter);
  const claims = past.flatMap((attempt): readonly Moment[] => [
    ...claimed(attempt, sessions),
    { at: attempt.endedAt, what: attempt.how, details: took(attempt.claimedAt, attempt.endedAt, attempt.error) },
  ]);
  const own = state === 'ready' || session === undefined ? [] : claimed({ leaseCounter, session, claimedAt }, sessions);
  const shown = past.length + Math.sign(own.length);
  const left = { at: task.createdAt, what: 'earlier attempts are not kept' };
  const moments: readonly Moment[] = [
    { at: task.createdAt, what: 'enqueued' },
    ...(attempts > shown && past.length > 0 ? [left] : []),
    ...claims,
    ...own,
    ...(state === 'ready' && task.readyAt > now && task.readyAt !== NEVER ? [{ at: task.readyAt, what: 'due' }] : []),
    ...('finishedAt' in task ? [endOf(task, cancellation?.reason)] : []),
  ];
  return moments.toSorted((one, other) => one.at - other.at);
}

function endOf(task: Extract<TaskRecord, { readonly finishedAt: number }>, reason: string | undefined): Moment {
  const { state, claimedAt, finishedAt, lastError } = task;
  const error = state === 'dead' && lastError !== undefined ? `${lastError.name}: ${lastError.message}` : undefined;
  return { at: finishedAt, what: state, details: took(claimedAt, finishedAt, error ?? reason) };
}

function claimed(
  { leaseCounter, session, claimedAt }: Pick<TaskRecord, 'leaseCounter' | 'claimedAt'> & { readonly session: string },
  sessions: Sessions,
): readonly Moment[] {
  if (claimedAt === undefined) return [];
  const { node, codeVersion } = sessions.get(session) ?? {};
  const code = codeVersion === undefined ? '' : `, code ${codeVersion}`;
  return [
    { at: claimedAt, what: 'claimed', details: `on ${node ?? `session ${session}`}${code}, token ${leaseCounter}` },
  ];
}

function took(from: number | undefined, until: number, more: string | undefined): string {
  const time = from === undefined || from > until ? '' : `after ${span(until - from)}`;
  return [time, more].filter(Boolean).join(': ');
}
