import type { Mutant } from '../change.ts';

const TASK_STORE = 'shared/tasks/rows/task/dynamo-task-store.ts';
const LINKED_ROWS = 'shared/tasks/rows/task/dependent-rows.ts';
const OCCURRENCE_MAKER = 'shared/tasks/rows/occurrence-maker.ts';

/** Seeded bugs of rows that belong to tasks, of the dispatcher, and of operator actions. */
export const FAMILY_MUTANTS: readonly Mutant[] = [
  {
    id: 'M53',
    what: 'a commit records its end without its result',
    file: TASK_STORE,
    from: 'const own = commitTask(this.table, claim, { result: encode(result), children: spawnedIn(effects) }, ending);',
    to: 'const own = commitTask(this.table, claim, { result: undefined, children: spawnedIn(effects) }, ending);',
    killedBy: ['I17'],
  },
  {
    id: 'X21',
    what: 'a child’s end is counted beside its transaction’s guard: an ended child ends again',
    file: LINKED_ROWS,
    from: 'return record.pending > 0',
    to: 'return false',
    killedBy: ['BATCH', 'L3'],
  },
  {
    id: 'X122',
    what: 'a task whose worker died, and that is cancelled, keeps the slot of its key',
    file: 'shared/tasks/rows/task/task-endings.ts',
    from: "abandon: { to: 'cancelled', of: 'deadHolder', how: 'cancelled' }",
    to: "abandon: { to: 'cancelled', of: 'nobody' }",
    killedBy: ['KEY'],
    changes: { operator: true },
  },
  {
    id: 'X111',
    what: "a late dispatcher's step is not refused",
    file: 'shared/tasks/rows/schedule-statements.ts',
    from: '#nonce = :observedNonce',
    to: '(#nonce = :observedNonce OR #nonce <> :observedNonce)',
    killedBy: ['OCCURS'],
  },
  {
    id: 'X117',
    what: 'with replace a late dispatcher stops the task of its own occurrence, which another has made',
    file: OCCURRENCE_MAKER,
    from: 'let since = schedule.lastAt',
    to: 'let since: number | undefined = at',
    also: [{ file: OCCURRENCE_MAKER, from: 'occurrence.at < at', to: '(occurrence.at <= at)' }],
    killedBy: ['OVERLAP'],
    changes: { overlap: 'replace' },
  },
  {
    id: 'X10',
    what: 'a tick is dispatched however often it is delivered',
    file: 'shared/tasks/dispatch/dispatcher.ts',
    from: 'taken.current?.by !== by',
    to: '(taken.current?.by === by)',
    killedBy: ['I20'],
    changes: { doubleTick: 0.6 },
  },
];
