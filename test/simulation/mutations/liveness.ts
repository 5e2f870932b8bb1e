/** Seeded bugs that do nothing wrong: they leave something undone, and each of them in silence. */
import type { Mutant } from './mutation.ts';

const WAIT = 'shared/wait/wait.ts';
const TURNS = 'shared/wait/turns.ts';
const CANDIDATES = 'shared/backlog/candidates.ts';
const RUN = 'shared/run/run.ts';

/** One row after the other in trouble, and many callers in each process. */
const CROWD = { users: 6, thinkMs: 1_000 } as const;

export const LIVENESS_MUTANTS: readonly Mutant[] = [
  {
    id: 'N1',
    what: 'a caller that leaves the front of a line within its process wakes none',
    edits: [{ file: TURNS, find: 'else if (wasFirst) waiting[0]?.wake();', replace: '' }],
    ...{ killedBy: ['L13'], profile: 'row', changes: CROWD },
  },
  {
    id: 'N2',
    what: 'a wait ends with the first outage of the store',
    edits: [{ file: WAIT, find: 'if (this.remainingMs === 0) throw error;', replace: 'if (error) throw error;' }],
    ...{ killedBy: ['L17'], profile: 'row' },
  },
  {
    id: 'N4',
    what: 'a waiter looks once, and again when its time is over',
    edits: [
      {
        file: WAIT,
        find: 'Math.min(this.#pauseMs(looks, seen), this.remainingMs)',
        replace: 'Math.max(Math.min(this.#pauseMs(looks, seen), 0), this.remainingMs)',
      },
    ],
    ...{ killedBy: ['L13'], profile: 'row' },
  },
  {
    id: 'N12',
    what: 'the tasks of dead workers are left to them',
    edits: [
      {
        file: CANDIDATES,
        find: 'if (heldUntil === undefined) return true;',
        replace: 'if (heldUntil === undefined) return false;',
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
        file: 'shared/dynamo/session/statements.ts',
        find: "if (told === 0) return '';",
        replace: "if (told >= 0) return ' REMOVE #revoked';",
      },
    ],
    killedBy: ['I1'],
    changes: { lockShare: 0.8 },
  },
  {
    id: 'N17',
    what: 'a lost session does not abort the signal of a running task',
    edits: [{ file: RUN, find: "session.signal.addEventListener('abort', onLost, { once: true });", replace: '' }],
    killedBy: ['L19'],
    changes: { partitionEveryMs: 4_000 },
  },
  {
    id: 'N18',
    what: 'the verbs of one claim run side by side',
    edits: [
      {
        file: RUN,
        find: 'const verb = this.#underWay.then(async () => {',
        replace: 'const verb = Promise.resolve().then(async () => {',
      },
    ],
    ...{ killedBy: ['I14', 'L11', 'L3'], profile: 'row' },
  },
];
