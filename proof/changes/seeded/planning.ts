/** Seeded bugs of the plan: too few workers, or too many. */
import type { Mutant } from '../change.ts';

const QUEUE = 'shared/tasks/rows/queue-statements.ts';

export const PLANNING_MUTANTS: readonly Mutant[] = [
  {
    id: 'F1',
    what: 'a plan takes late tasks for new ones',
    file: 'shared/tasks/dispatch/demand.ts',
    from: 'late: sum(({ late }) => late)',
    to: 'late: 0',
    killedBy: ['W1'],
    profile: 'fanout',
  },
  {
    id: 'F3',
    what: 'a hint of how long tasks take stamps the queue’s row',
    file: QUEUE,
    from: "':concurrency': workerSettings.concurrency",
    to: "':concurrency': workerSettings.concurrency, ':nonce': 'hint'",
    also: [
      {
        file: QUEUE,
        from: "'SET #unknown = :unknown, #names = :names, #concurrency = :concurrency, #startWithin = :startWithin'",
        to: "('SET #nonce = :nonce, #unknown = :unknown, #names = :names, #concurrency = :concurrency, #startWithin = :startWithin')",
      },
    ],
    killedBy: ['HINT'],
    profile: 'fanout',
  },
  {
    id: 'F4',
    what: 'a waker forgets what it has just started',
    file: 'shared/tasks/dispatch/pending-starts.ts',
    from: 'this.areRecent(now) ? Math.max(0, count - (token - before)) : 0',
    to: '0',
    killedBy: ['W3'],
    profile: 'fanout',
  },
  {
    id: 'F6',
    what: 'the rule wants one worker, however much is due: also for those that judge by it',
    file: 'shared/tasks/dispatch/plan.ts',
    from: 'Math.min(maxWorkers, all)',
    to: '(Math.min(1, maxWorkers, all))',
    killedBy: ['W2'],
    profile: 'fanout',
  },
];
