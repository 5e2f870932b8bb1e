import { ANYBODYS, becomes, disarmed, leftOnly } from './change.ts';
import type { Mutant } from './mutation.ts';
import { argument, clause, condition, operation, use } from './place.ts';

const STATEMENTS = 'shared/tasks/rows/task/task-statements.ts';

const WORKER = 'shared/tasks/worker/run-worker.ts';

export const TASK_MUTANTS: readonly Mutant[] = [
  {
    id: 'M1',
    what: 'a claim does not raise the lease counter',
    edits: [{ file: STATEMENTS, in: 'TAKE', at: clause('#leaseCounter = #leaseCounter + :one,'), change: 'drop' }],
    killedBy: ['I3'],
  },
  {
    id: 'M4',
    what: 'a waiting task carries a TTL, and is swept',
    edits: [
      {
        file: STATEMENTS,
        in: 'enqueueTask',
        at: argument('createStatement', 2),
        change: ({ text }) => `((item) => ({ ...item, ttl: Math.floor(item.createdAt / 1_000) }))(${text})`,
      },
    ],
    killedBy: ['I15'],
  },
  {
    id: 'M4b',
    what: 'ended tasks are swept at once',
    edits: [{ file: 'shared/dynamo/engine/schema.ts', in: 'RETENTION_DAYS.task', change: becomes('0') }],
    killedBy: ['I25'],
  },
  {
    id: 'M5',
    what: 'a take-over does not compare the observed session and counter',
    edits: disarmed(STATEMENTS, 'IS_OBSERVED', '#leaseCounter = :observedCounter', '#session = :observedSession'),
    killedBy: ['I14'],
  },
  {
    id: 'M20',
    what: 'a release does not compare session and counter',
    edits: [{ file: STATEMENTS, in: 'releaseTask.guard', change: becomes(ANYBODYS) }],
    killedBy: ['I5'],
    changes: { late: 0.15, latestMs: 30_000, freezeEveryMs: 4_000 },
  },
  {
    id: 'M20b',
    what: 'a retry does not compare session and counter',
    edits: [{ file: STATEMENTS, in: 'retryTask.guard', change: becomes(ANYBODYS) }],
    killedBy: ['I5'],
    changes: { late: 0.15, latestMs: 30_000, freezeEveryMs: 4_000 },
  },
  {
    id: 'M49',
    what: 'a claim trusts the index: neither state nor counter nor nonce is compared',
    edits: [
      ...disarmed(STATEMENTS, 'IS_DUE', '#state = :ready', '#leaseCounter = :observedCounter'),
      ...disarmed(STATEMENTS, 'claimTask.guard', '#nonce = :observedNonce'),
    ],
    killedBy: ['I14'],
  },
  {
    id: 'M52',
    what: 'a completion does not compare session and counter',
    edits: [{ file: STATEMENTS, in: 'completeTask.guard', change: becomes(ANYBODYS) }],
    killedBy: ['I16'],
    changes: { late: 0.15, latestMs: 30_000, freezeEveryMs: 4_000 },
  },
  {
    id: 'M51',
    what: 'progress does not compare session and counter',
    edits: [{ file: STATEMENTS, in: 'saveProgress.guard', at: use('IS_MINE'), change: becomes(ANYBODYS) }],
    killedBy: ['I9'],
  },
  {
    id: 'M54',
    what: 'attempts are counted when an error is reported, not when a task is claimed',
    edits: [
      {
        file: STATEMENTS,
        in: 'TAKE',
        at: clause('#attempts = #attempts + :one'),
        change: becomes('#attempts = #attempts + :zero'),
      },
    ],
    killedBy: ['I18'],
  },
  {
    id: 'M56',
    what: 'enqueuing writes over what is there',
    edits: [
      {
        file: 'shared/dynamo/engine/statement.ts',
        in: 'createStatement',
        at: clause('attribute_not_exists(#pk)'),
        change: ({ text }) => `${text} OR attribute_exists(#pk)`,
      },
    ],
    killedBy: ['I19'],
  },
  {
    id: 'X1',
    what: 'progress has no order: a late request overwrites its successor (found by the simulation)',
    edits: disarmed(STATEMENTS, 'saveProgress.guard', '#sequence < :sequence'),
    killedBy: ['I2b'],
    profile: 'network',
  },
  {
    id: 'X4',
    what: 'a release forgets all attempts so far',
    edits: [
      {
        file: STATEMENTS,
        in: 'releaseTask.effect',
        at: clause('#attempts = #attempts - :one'),
        change: becomes('#attempts = :one - :one'),
      },
    ],
    killedBy: ['I18', 'I24'],
  },
  {
    id: 'X72',
    what: 'a worker claims tasks whose names it does not know',
    edits: [
      { file: WORKER, in: 'QueueWorker.#work', at: condition('isOverdue'), change: becomes('false') },
      { file: WORKER, in: 'QueueWorker.#work', at: operation('||', 'undefined'), change: leftOnly },
    ],
    killedBy: ['NAME'],
  },
];
