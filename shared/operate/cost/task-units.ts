/** Average table units of one task: with its own row, or in a pack. */
import type { PackTable } from './pack-verbs.ts';
import type { VerbUnits } from './verb-units.ts';
import type { VerbTable } from './verbs.ts';
import type { Workload } from './workload.ts';

export type TaskCourse = Pick<
  Workload,
  'attemptsPerTask' | 'commitItems' | 'refusedPerTask' | 'refusedCommitsPerTask' | 'secondsPerTask' | 'flushSeconds'
>;

export interface TaskUnits {
  readonly total: number;
  readonly table: number;
  readonly readyIndex: number;
  /** Claims that succeed. */
  readonly claims: number;
  readonly storedBytes: number;
}

export function taskUnits(course: TaskCourse, verbs: VerbTable): TaskUnits {
  return verbs.pack === undefined ? unitsAlone(course, verbs) : unitsInPack(course, verbs, verbs.pack);
}

/** Operations, and how often each is sent for a task. */
type Verbs = readonly (readonly [VerbUnits, number])[];

function unitsAlone(course: TaskCourse, verbs: VerbTable): TaskUnits {
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

/** A task that fails leaves its pack, and continues in its own row. */
function unitsInPack(course: TaskCourse, verbs: VerbTable, pack: PackTable): TaskUnits {
  const { attemptsPerTask, commitItems, refusedPerTask, refusedCommitsPerTask } = course;
  const retries = attemptsPerTask - 1;
  const leaving = Math.min(1, retries);
  const perPack = 1 / pack.tasks;
  const ends: Verbs =
    commitItems > 0
      ? [
          [pack.commit, 1 - leaving],
          [verbs.commit, leaving],
        ]
      : [
          [pack.record, recordsPerPack(course, pack.tasks) * perPack],
          [verbs.complete, leaving],
        ];
  const sent: Verbs = [
    [pack.enqueue, perPack],
    [pack.claim, perPack],
    [pack.finish, perPack],
    [pack.move, leaving],
    [verbs.claim, retries],
    [verbs.retry, retries - leaving],
    [verbs.refusedClaim, refusedPerTask * (perPack + retries)],
    [pack.refusedCommit, refusedCommitsPerTask * (1 - leaving)],
    [verbs.refusedCommit, refusedCommitsPerTask * leaving],
    ...ends,
  ];
  return {
    ...sumOf(sent),
    claims: perPack + retries,
    storedBytes: pack.storedBytes * perPack + verbs.storedBytes * leaving,
  };
}

/** Ends are recorded when the first of them has waited for the flush interval. The last ones are recorded with the end of the pack. */
function recordsPerPack({ secondsPerTask, flushSeconds }: TaskCourse, tasks: number): number {
  const together = 1 + Math.floor(flushSeconds / secondsPerTask);
  let records = 0;
  for (let first = 1; first * secondsPerTask + flushSeconds < tasks * secondsPerTask; first += together) records++;
  return records;
}

function sumOf(sent: Verbs): Pick<TaskUnits, 'total' | 'table' | 'readyIndex'> {
  const sum = (share: keyof VerbUnits): number => sent.reduce((all, [units, times]) => all + units[share] * times, 0);
  return { total: sum('total'), table: sum('table'), readyIndex: sum('readyIndex') };
}
