/** Seeded bugs that do nothing wrong: they leave something undone, and each of them in silence. */
import type { Mutant } from './mutation.ts';

const WAIT = 'shared/wait/wait.ts';
const TURNS = 'shared/wait/turns.ts';
const CANDIDATES = 'shared/backlog/candidates.ts';
const RUN = 'shared/run/run.ts';
const CONTENDER = 'shared/session/contender.ts';
const WORKER = 'shared/worker/worker.ts';

/** One row after the other in trouble, and many callers in each process. */
const CROWD = { users: 6, thinkMs: 1_000 } as const;
/** The same, in a tenth of the time. */
const SHORT_CROWD = { ...CROWD, faultyMs: 60_000, settleMs: 60_000 } as const;

export const LIVENESS_MUTANTS: readonly Mutant[] = [
  {
    id: 'N1',
    what: 'a caller that leaves the front of a line within its process wakes none',
    edits: [{ file: TURNS, find: 'else if (wasFirst) waiting[0]?.wake();', replace: '' }],
    killedBy: ['L13'],
    profile: 'row',
    changes: CROWD,
  },
  {
    id: 'N2',
    what: 'a wait ends with the first outage of the store',
    edits: [{ file: WAIT, find: 'if (this.remainingMs === 0) throw error;', replace: 'if (error) throw error;' }],
    killedBy: ['L17'],
    profile: 'row',
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
    killedBy: ['L13'],
    profile: 'row',
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
    killedBy: ['I14', 'L11', 'L3'],
    profile: 'row',
  },
  {
    id: 'N40',
    what: 'a caller that gives up leaves its place in the queue',
    edits: [
      {
        file: 'shared/semaphore/contender.ts',
        find: 'if (!this.#mayBeQueued) return;',
        replace: 'if (this.#request) return;',
      },
    ],
    killedBy: ['L14', 'L13'],
    profile: 'row',
    changes: CROWD,
  },
  {
    id: 'N41',
    what: 'the permits and places of dead sessions are left to them',
    edits: [
      {
        file: 'shared/semaphore/survey.ts',
        find: "session === mine ? !book.isOpen(since) : standings.get(session)?.kind === 'free';",
        replace: 'session === mine && !book.isOpen(since);',
      },
    ],
    killedBy: ['L13', 'L14'],
    profile: 'row',
    changes: SHORT_CROWD,
  },
  {
    id: 'N42',
    what: 'a parked task stays out of sight when its key has room',
    edits: [
      {
        file: 'shared/dynamo/task/parking-store.ts',
        find: 'const fitting = (await withTasks(batch)).filter(({ task }) => room.admits(task));',
        replace:
          'const fitting = (await withTasks(batch)).filter(({ task }) => room.admits(task) && task.queue === undefined);',
      },
    ],
    killedBy: ['L10', 'L3'],
    profile: 'flood',
    changes: { floodOf: 'key' },
  },
  {
    id: 'N43',
    what: 'a place in a worker is never given up, so that a task on its last chance waits for ever',
    edits: [{ file: WORKER, find: '} finally { leave(); }', replace: '} finally { candidate; }' }],
    killedBy: ['L10', 'L3'],
    profile: 'processes',
  },
  {
    id: 'N44',
    what: 'a session that has expired is taken to live',
    edits: [
      {
        file: CONTENDER,
        find: "if (verdict.kind !== 'expired') return verdict;",
        replace: "if (verdict.kind === 'expired') return { kind: 'live', until: null }; else return verdict;",
      },
    ],
    killedBy: ['L10', 'L13', 'L3'],
    profile: 'processes',
  },
  {
    id: 'N45',
    what: 'a lock of a dead session is left to it',
    edits: [
      {
        file: 'shared/lock/contender.ts',
        find: "const isFresh = standing.disposition.behaviour === 'delete';",
        replace:
          "if (lock.key !== '') return { kind: 'delayed', key: this.key, until: this.#ports.runtime.clock.now() + 1_000 }; const isFresh = false;",
      },
    ],
    killedBy: ['L13'],
    profile: 'processes',
    changes: SHORT_CROWD,
  },
];
