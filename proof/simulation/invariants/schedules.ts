/**
 * OCCURS: each occurrence of a schedule becomes one task, except occurrences that a policy omits: the schedule advances only together with
 * the tasks of the occurrences that it leaves behind. The ranges [since, at) of these tasks follow each other without gaps or overlaps.
 * OVERLAP: unless the policy allows it, no task of a schedule begins between the first claim of another and its end; with `skip` no task
 * is created while one has not ended; with `replace` only tasks of earlier occurrences are stopped.
 */
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { Applied } from '../history.ts';
import type { Family } from './rule.ts';
import { isTask } from './rule.ts';
import { QUEUE_NAME } from '../rows.ts';

/** The one that the workload defines: every ten seconds. */
export const SCHEDULE = { name: 'often', cron: '*/10 * * * * *', everyMs: 10_000 } as const;

const SCHEDULE_ROW = `schedule#${QUEUE_NAME}#${SCHEDULE.name}`;
const ENDED = new Set<unknown>(['done', 'dead', 'cancelled']);

export const schedules: Family = ({ overlap }, report) => {
  const made = new Set<string>();
  const open = new Set<string>();
  /** Tasks between their first claim and their end. */
  const atWork = new Set<string>();
  let lastAt: number | undefined;
  /** Occurrences that a request has left behind: their tasks are among its other rows. */
  let owed: { readonly request: number; readonly occurrences: readonly number[] } | undefined;

  function onSchedule({ row, request, before, after }: Applied): void {
    const [from, to] = [Number(before?.readyAt), Number(after?.readyAt)];
    if (to < from) report('OCCURS', row, `went back from ${nameOf(from)} to ${nameOf(to)}`);
    if (!(to > from)) return;
    // One policy keeps only the last of the occurrences that were missed.
    const first = after?.missed === 'last' ? to - SCHEDULE.everyMs : from;
    const left = Array.from({ length: (to - first) / SCHEDULE.everyMs }, (_, nth) => first + nth * SCHEDULE.everyMs);
    const leftOut = (after?.leftOut ?? []) as readonly string[];
    owed = {
      request,
      occurrences: left.filter((occurrence) => overlap !== 'skip' || !leftOut.includes(`overlap@${occurrence}`)),
    };
  }

  function settleOwed(): void {
    for (const occurrence of owed?.occurrences ?? [])
      if (!made.has(taskOf(occurrence)))
        report('OCCURS', SCHEDULE_ROW, `left ${nameOf(occurrence)} behind, which has become no task`);
    owed = undefined;
  }

  function onMade(row: string, { at, since }: OccurrenceFacts): void {
    const expected = lastAt === undefined ? undefined : Math.min(lastAt, at);
    if (since !== expected) report('OCCURS', row, `covers what came since ${since}, and should since ${expected}`);
    if (overlap === 'skip' && open.size > 0)
      report('OVERLAP', row, `is made while ${[...open].join(', ')} has not ended`);
    lastAt = Math.max(lastAt ?? at, at);
    made.add(row);
  }

  function onTask({ row, before, after }: Applied): void {
    if (after?.schedule === undefined) return;
    if (before === undefined) onMade(row, after.schedule as OccurrenceFacts);
    if (ENDED.has(after.state)) {
      open.delete(row);
      atWork.delete(row);
      if (!ENDED.has(before?.state)) ensureEarlier(row, after);
      return;
    }
    open.add(row);
    if (after.state !== 'running' || atWork.has(row)) return;
    const [other] = atWork;
    if (overlap !== 'allow' && other !== undefined) report('OVERLAP', row, `begins before ${other} has ended`);
    atWork.add(row);
  }

  function ensureEarlier(row: string, { cancellation, schedule }: DynamoItem): void {
    const { reason = '' } = (cancellation ?? {}) as { readonly reason?: string };
    const [, by] = /^replaced by \w+@(.*)$/.exec(reason) ?? [];
    if (by !== undefined && Date.parse(by) <= (schedule as OccurrenceFacts).at)
      report('OVERLAP', row, `was stopped for ${by}, which is not later`);
  }

  return {
    on(event) {
      if (owed !== undefined && !(event.kind === 'applied' && event.request === owed.request)) settleOwed();
      if (event.kind === 'applied' && isTask(event.row)) onTask(event);
      else if (event.kind === 'applied' && event.row === SCHEDULE_ROW) onSchedule(event);
    },
    end: settleOwed,
  };
};

interface OccurrenceFacts {
  readonly at: number;
  readonly since?: number;
}

function taskOf(occurrence: number): string {
  return `task#${QUEUE_NAME}#${SCHEDULE.name}@${nameOf(occurrence)}`;
}

function nameOf(occurrence: number): string {
  return new Date(occurrence).toISOString();
}
