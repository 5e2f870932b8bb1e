/** Seeded bugs of the plan: too few workers, or too many. */
import { becomes } from './change.ts';
import type { Mutant } from './mutation.ts';
import { entry, property, returned } from './place.ts';

const QUEUE = 'shared/tasks/rows/queue-statements.ts';

export const PLANNING_MUTANTS: readonly Mutant[] = [
  {
    id: 'F1',
    what: 'a plan takes late tasks for new ones',
    edits: [{ file: 'shared/tasks/dispatch/demand.ts', in: 'demandOf', at: entry('late'), change: becomes('late: 0') }],
    killedBy: ['W1'],
    profile: 'fanout',
  },
  {
    id: 'F3',
    what: 'a hint of how long tasks take stamps the queue’s row',
    edits: [
      {
        file: QUEUE,
        in: 'SET_HINTS',
        change: ({ text }) => text.replace('SET ', 'SET #nonce = :nonce, '),
      },
      { file: QUEUE, in: 'noteHints', at: entry(':concurrency'), change: ({ text }) => `${text}, ':nonce': 'hint'` },
    ],
    killedBy: ['HINT'],
    profile: 'fanout',
  },
  {
    id: 'F4',
    what: 'a waker forgets what it has just started',
    edits: [
      {
        file: 'shared/tasks/dispatch/pending-starts.ts',
        in: 'PendingStarts.count',
        at: returned(),
        change: becomes('0'),
      },
    ],
    killedBy: ['W3'],
    profile: 'fanout',
  },
  {
    id: 'F6',
    what: 'the rule wants one worker, however much is due: also for those that judge by it',
    edits: [
      {
        file: 'shared/tasks/dispatch/plan.ts',
        in: 'wantedWorkers',
        at: property('workers'),
        change: becomes('Math.min(1, maxWorkers, all)'),
      },
    ],
    killedBy: ['W2'],
    profile: 'fanout',
  },
];
