/** Average table units of one task. */
import type { VerbUnits } from './verb-units.ts';
import type { VerbTable } from './verbs.ts';
import type { Workload } from './workload.ts';

export type TaskCourse = Pick<Workload, 'attemptsPerTask' | 'commitItems' | 'refusedPerTask' | 'refusedCommitsPerTask'>;

export interface TaskUnits {
  readonly total: number;
  readonly table: number;
  readonly readyIndex: number;
  /** Claims that succeed. */
  readonly claims: number;
  readonly storedBytes: number;
}

/** Operations, and how often each is sent for a task. */
type Verbs = readonly (readonly [VerbUnits, number])[];

export function taskUnits(course: TaskCourse, verbs: VerbTable): TaskUnits {
  const { attemptsPerTask, commitItems, refusedPerTask, refusedCommitsPerTask } = course;
  const sent: Verbs = [
    [verbs.enqueue, 1],
    [verbs.claim, attemptsPerTask],
    [verbs.retry, attemptsPerTask - 1],
    [commitItems > 0 ? verbs.commit : verbs.complete, 1],
    [verbs.refusedClaim, refusedPerTask],
    [verbs.refusedCommit, refusedCommitsPerTask],
    [verbs.removePayload, 1],
  ];
  return { ...sumOf(sent), claims: attemptsPerTask, storedBytes: verbs.storedBytes };
}

function sumOf(sent: Verbs): Pick<TaskUnits, 'total' | 'table' | 'readyIndex'> {
  const sum = (share: keyof VerbUnits): number => sent.reduce((all, [units, times]) => all + units[share] * times, 0);
  return { total: sum('total'), table: sum('table'), readyIndex: sum('readyIndex') };
}
