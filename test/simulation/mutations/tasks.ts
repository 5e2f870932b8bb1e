import type { Edit, Mutant } from './mutation.ts';

const STATEMENTS = 'shared/dynamo/task/statements.ts';

/** A guard without its counter and session: what is left names them, as DynamoDB demands, and asks nothing of them. */
const ANYBODYS =
  "'#state = :running AND (#leaseCounter <> :counter OR #leaseCounter = :counter) AND (#session <> :session OR #session = :session)'";
const guardOf = (verb: string, replace: string): Edit => ({
  file: STATEMENTS,
  find: `return updateStatement('task.${verb}', {
    table,
    key: taskKey(claim.queue, claim.id),
    guard: IS_MINE,`,
  replace: `return updateStatement('task.${verb}', {
    table,
    key: taskKey(claim.queue, claim.id),
    guard: ${replace},`,
});

export const TASK_MUTANTS: readonly Mutant[] = [
  {
    id: 'M1',
    what: 'a claim does not raise the lease counter',
    edits: [{ file: STATEMENTS, find: "'#leaseCounter = #leaseCounter + :one, #attempts", replace: "'#attempts" }],
    killedBy: ['I3'],
  },
  {
    id: 'M2',
    what: 'a row that comes back starts its counter at zero (seed dropped)',
    edits: [{ file: STATEMENTS, find: 'leaseCounter: now, nonce', replace: 'leaseCounter: 0, nonce' }],
    killedBy: ['I3'],
    changes: { leap: true },
  },
  {
    id: 'M3',
    what: 'a release deletes the row',
    edits: [
      {
        file: 'shared/dynamo/task/store.ts',
        find: 'statements.releaseTask(table, claim, stamp)',
        replace:
          "{ verb: 'task.release', kind: 'delete', input: { TableName: table, Key: statements.releaseTask(table, claim, stamp).input.Key, ReturnValues: 'ALL_OLD' } } as never",
      },
    ],
    killedBy: ['I3'],
  },
  {
    id: 'M4',
    what: 'a waiting task carries a TTL, and is swept',
    edits: [{ file: STATEMENTS, find: 'attempts: 0,', replace: 'ttl: Math.floor(now / 1000), attempts: 0,' }],
    killedBy: ['I15'],
  },
  {
    id: 'M4b',
    what: 'ended tasks are swept at once',
    edits: [{ file: 'shared/dynamo/engine/schema.ts', find: '  task: 14,', replace: '  task: 0,' }],
    killedBy: ['I25'],
  },
  {
    id: 'M5',
    what: 'a take-over does not compare the observed session and counter',
    edits: [
      {
        file: STATEMENTS,
        find: "const IS_OBSERVED = '#state = :running AND #leaseCounter = :observedCounter AND #session = :observedSession';",
        replace:
          "const IS_OBSERVED = '#state = :running AND (#leaseCounter <> :observedCounter OR #leaseCounter = :observedCounter) AND (#session <> :observedSession OR #session = :observedSession)';",
      },
    ],
    killedBy: ['I14'],
  },
  {
    id: 'M20',
    what: 'a release does not compare session and counter',
    edits: [guardOf('release', ANYBODYS)],
    killedBy: ['I5'],
    changes: { late: 0.15, latestMs: 30_000, freezeEveryMs: 4_000 },
  },
  {
    id: 'M20b',
    what: 'a retry does not compare session and counter',
    edits: [guardOf('retry', ANYBODYS)],
    killedBy: ['I5'],
    changes: { late: 0.15, latestMs: 30_000, freezeEveryMs: 4_000 },
  },
  {
    id: 'M49',
    what: 'a claim trusts the index: neither state nor counter nor nonce is compared',
    edits: [
      {
        file: STATEMENTS,
        find: '#state = :ready AND #leaseCounter = :observedCounter AND #readyAt <= :now',
        replace:
          '(#state <> :ready OR #state = :ready) AND (#leaseCounter <> :observedCounter OR #leaseCounter = :observedCounter) AND #readyAt <= :now',
      },
      {
        file: STATEMENTS,
        find: "'#nonce = :observedNonce', ...(observed.expiresAt === undefined",
        replace: "'(#nonce = :observedNonce OR #nonce <> :observedNonce)', ...(observed.expiresAt === undefined",
      },
    ],
    killedBy: ['I14'],
  },
  {
    id: 'M52',
    what: 'a completion does not compare session and counter',
    edits: [
      {
        file: STATEMENTS,
        find: `    guard: IS_MINE,
    effect: result === undefined`,
        replace: `    guard: ${ANYBODYS},
    effect: result === undefined`,
      },
    ],
    killedBy: ['I16'],
    changes: { late: 0.15, latestMs: 30_000, freezeEveryMs: 4_000 },
  },
  {
    id: 'M51',
    what: 'progress does not compare session and counter',
    edits: [
      {
        file: STATEMENTS,
        find: 'guard: `${IS_MINE} AND #sequence < :sequence`',
        replace: `guard: ${ANYBODYS} + ' AND #sequence < :sequence'`,
      },
    ],
    killedBy: ['I9'],
  },
  {
    id: 'M54',
    what: 'attempts are counted when an error is reported, not when a task is claimed',
    edits: [
      {
        file: STATEMENTS,
        find: '#attempts = #attempts + :one, #sequence = :zero',
        replace: '#attempts = #attempts + :zero, #sequence = :zero',
      },
    ],
    killedBy: ['I18'],
  },
  {
    id: 'M55',
    what: 'a worker buries, or takes over, without asking whether the holder lives',
    edits: [
      { file: 'shared/backlog/candidates.ts', find: "if (standing.kind === 'free') continue;", replace: 'continue;' },
    ],
    killedBy: ['I14'],
  },
  {
    id: 'M56',
    what: 'enqueuing writes over what is there',
    edits: [
      {
        file: 'shared/dynamo/engine/statement.ts',
        find: "const guard = 'attribute_not_exists(#pk)';",
        replace: "const guard = 'attribute_not_exists(#pk) OR attribute_exists(#pk)';",
      },
    ],
    killedBy: ['I19'],
  },
  {
    id: 'X1',
    what: 'progress has no order: a late request overwrites its successor (found by the simulation)',
    edits: [
      {
        file: STATEMENTS,
        find: 'guard: `${IS_MINE} AND #sequence < :sequence`',
        replace: 'guard: `${IS_MINE} AND (#sequence < :sequence OR #sequence >= :sequence)`',
      },
    ],
    killedBy: ['I2b'],
    profile: 'network',
  },
  {
    id: 'X4',
    what: 'a release forgets all attempts so far',
    edits: [
      {
        file: STATEMENTS,
        find: 'effect: `SET #state = :ready, #attempts = #attempts - :one, #nonce = :nonce, ${remember(claim)}${count} ${LEAVE_CLAIM}${forget}`',
        replace:
          'effect: `SET #state = :ready, #attempts = :one - :one, #nonce = :nonce, ${remember(claim)} ${LEAVE_CLAIM}`',
      },
    ],
    killedBy: ['I18', 'I24'],
  },
  {
    id: 'X72',
    what: 'a worker claims tasks whose names it does not know',
    edits: [
      {
        file: 'shared/worker/worker.ts',
        find: 'if (definition === undefined && !isOverdue(candidate, runtime.clock.now())) {',
        replace: "if (definition === undefined && candidate.task.id === '') {",
      },
      {
        file: 'shared/worker/worker.ts',
        find: 'if (task === undefined || definition === undefined) {',
        replace: 'if (task === undefined) {',
      },
    ],
    killedBy: ['NAME'],
  },
  {
    id: 'X73',
    what: 'a task that kills its workers is given all attempts that one may have that fails',
    edits: [
      {
        file: 'shared/worker/chances.ts',
        find: 'return attempts >= maxAttempts || deaths + 1 >= maxDeaths;',
        replace: 'return attempts >= maxAttempts || deaths + 1 >= maxDeaths + maxAttempts;',
      },
    ],
    killedBy: ['I18'],
  },
  {
    id: 'X74',
    what: 'a takeover does not count the death',
    edits: [
      {
        file: STATEMENTS,
        find: 'effect: `${TAKE}, ${COUNT_DEATH}, ${remember(observed)}`,',
        replace: 'effect: `${TAKE}, ${remember(observed)}`,',
      },
    ],
    killedBy: ['I18'],
  },
];
