/** Seeded bugs that do nothing wrong: they leave something undone, and each of them in silence. */
import { becomes } from './change.ts';
import type { Mutant } from './mutation.ts';
import { branch, call, condition, returned, statement } from './place.ts';

const WAIT = 'shared/core/wait/wait.ts';
const CANDIDATES = 'shared/tasks/picker/candidates.ts';
const RUN = 'shared/tasks/run/run-claim.ts';

/** One row after the other in trouble, and many callers in each process. */
const CROWD = { users: 6, thinkMs: 1_000 } as const;
/** The same, in a tenth of the time. */
const SHORT_CROWD = { ...CROWD, faultyMs: 60_000, settleMs: 60_000 } as const;
/** One long-lived worker: it remembers skipped tasks, and no other worker polls. */
const ALONE = { stays: true, environments: 1, users: 0, faultyMs: 60_000, settleMs: 200_000 } as const;

export const LIVENESS_MUTANTS: readonly Mutant[] = [
  {
    id: 'N2',
    what: 'a wait ends with the first outage of the store',
    edits: [{ file: WAIT, in: 'Wait.bear', at: condition('remainingMs'), change: becomes('true') }],
    killedBy: ['L17'],
    profile: 'row',
  },
  {
    id: 'N12',
    what: 'the tasks of dead workers are left to them',
    edits: [
      {
        file: CANDIDATES,
        in: 'Candidates.#findAbandoned',
        at: [branch('undefined'), returned()],
        change: becomes('false'),
      },
    ],
    killedBy: ['L10', 'L3'],
    profile: 'processes',
  },
  {
    id: 'N5',
    what: 'a renewal clears what was taken away, told or not',
    edits: [
      {
        file: 'shared/session/row/session-statements.ts',
        in: 'forget',
        at: [branch('told'), condition('told')],
        change: becomes('true'),
      },
      {
        file: 'shared/session/row/session-statements.ts',
        in: 'forget',
        at: [branch('told'), returned()],
        change: becomes("' REMOVE #revoked'"),
      },
    ],
    killedBy: ['I1'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'N17',
    what: 'a lost session does not abort the signal of a running task',
    edits: [{ file: RUN, in: 'ClaimRun.#linkSignals', at: statement('session', 'addEventListener'), change: 'drop' }],
    killedBy: ['L19'],
    changes: { partitionEveryMs: 4_000 },
  },
  {
    id: 'N40',
    what: 'a caller that gives up leaves its place in the queue',
    edits: [
      {
        file: 'shared/coordination/semaphore/semaphore-contender.ts',
        in: 'SemaphoreContender.#forgo',
        at: call('withoutTicket'),
        change: becomes('row'),
      },
    ],
    killedBy: ['L14', 'L13'],
    profile: 'row',
    changes: CROWD,
  },
  {
    id: 'N45',
    what: 'a lock of a dead session is left to it',
    edits: [
      {
        file: 'shared/coordination/lock/lock-contender.ts',
        in: 'LockContender.#assess',
        at: statement('behaviour', 'delete'),
        change: ({ text }) =>
          `return { kind: 'delayed', key: this.key, until: this.#ports.runtime.clock.now() + 1_000 }; ${text}`,
      },
    ],
    killedBy: ['L13'],
    profile: 'processes',
    changes: SHORT_CROWD,
  },
  {
    id: 'N46',
    what: 'an undecided end of a task is not sent again',
    edits: [
      {
        file: 'shared/tasks/run/claim-writer.ts',
        in: 'ClaimWriter.finish',
        at: condition('handBack', 'aborted'),
        change: becomes('true'),
      },
    ],
    killedBy: ['L11'],
    profile: 'row',
    changes: { ...ALONE, settleMs: 60_000, focusEveryMs: 10_000 },
  },
];
