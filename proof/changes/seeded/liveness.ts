/** Seeded bugs that do nothing wrong: they leave something undone, and each of them in silence. */
import type { Mutant } from '../change.ts';

const WAIT = 'shared/core/wait/wait.ts';
const ROWS = 'shared/tasks/picker/rows.ts';
const RUN = 'shared/tasks/run/run-claim.ts';

/** One row after the other in trouble, and many callers in each process. */
const CROWD = { users: 6, thinkMs: 1_000 } as const;
/** The same, in a tenth of the time. */
const SHORT_CROWD = { ...CROWD, faultyMs: 60_000, settleMs: 60_000 } as const;
/** One long-lived worker: it remembers skipped tasks, and no other worker polls. */
const ALONE = { stays: true, environments: 1, users: 0, faultyMs: 60_000, settleMs: 200_000 } as const;

export const LIVENESS_MUTANTS: readonly Mutant[] = [
  {
    id: 'X202',
    what: 'a wait ends with the first outage of the store',
    file: WAIT,
    from: 'if (this.remainingMs === 0) throw error;',
    to: 'if (true) throw error;',
    killedBy: ['L17'],
    profile: 'row',
  },
  {
    id: 'X212',
    what: 'the tasks of dead workers are left to them',
    file: ROWS,
    from: 'return until === undefined;',
    to: 'return false;',
    killedBy: ['L10', 'L3'],
    profile: 'processes',
  },
  {
    id: 'X217',
    what: 'a lost session does not abort the signal of a running task',
    file: RUN,
    from: "session.signal.addEventListener('abort', onLost, { once: true });",
    to: ';',
    killedBy: ['L19'],
    changes: { partitionEveryMs: 4_000 },
  },
  {
    id: 'X240',
    what: 'a caller that gives up leaves its place in the queue',
    file: 'shared/coordination/semaphore/semaphore-contender.ts',
    from: 'withoutTicket(row, claim)',
    to: 'row',
    killedBy: ['L14', 'L13'],
    profile: 'row',
    changes: CROWD,
  },
  {
    id: 'X245',
    what: 'a lock of a dead session is left to it',
    file: 'shared/coordination/lock/lock-contender.ts',
    from: "const isFresh = standing.disposition.behaviour === 'delete';",
    to: "return { kind: 'delayed', key: this.key, until: this.#ports.runtime.clock.now() + 1_000 }; const isFresh = standing.disposition.behaviour === 'delete';",
    killedBy: ['L13'],
    profile: 'processes',
    changes: SHORT_CROWD,
  },
  {
    id: 'X246',
    what: 'an undecided end of a task is not sent again',
    file: 'shared/tasks/run/claim-writer.ts',
    from: 'this.#ports.handBack.aborted',
    to: 'true',
    killedBy: ['L11'],
    profile: 'row',
    changes: { ...ALONE, settleMs: 60_000, focusEveryMs: 10_000 },
  },
];
