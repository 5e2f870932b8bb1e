import type { Mutant } from '../change.ts';

const STATEMENTS = 'shared/tasks/rows/task/task-statements.ts';

const CREATED_BY = 'shared/tasks/task/created-by.ts';

const WORKER = 'shared/tasks/worker/run-worker.ts';

/** Little else is done. */
const RIVALS = { rivals: 30, tasks: 5, lockShare: 0, coordinationShare: 0 };

export const TASK_MUTANTS: readonly Mutant[] = [
  {
    id: 'M97',
    what: 'no bar stands against late copies of an enqueue that a condition of its caller refused',
    file: 'shared/tasks/rows/task/adding-store.ts',
    from: "const instead = earlierAttempt === 'unknown' ?",
    to: "const instead = (earlierAttempt as string) === 'never' ?",
    killedBy: ['I2'],
    changes: { orders: 60, stock: 0, late: 0.15, latestMs: 30_000, tasks: 5, lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'M1',
    what: 'a claim does not raise the lease counter',
    file: STATEMENTS,
    from: '#leaseCounter = #leaseCounter + :one, ',
    to: '',
    killedBy: ['I3'],
  },
  {
    id: 'M4',
    what: 'a waiting task carries a TTL, and is swept',
    file: STATEMENTS,
    from: '    ...(children && { children: children.id }),\n  };',
    to: '    ...(children && { children: children.id }),\n    ttl: Math.floor(now / 1_000),\n  };',
    killedBy: ['I15'],
  },
  {
    id: 'M4b',
    what: 'ended tasks are swept at once',
    file: 'shared/dynamo/engine/schema.ts',
    from: 'task: 14,',
    to: 'task: 0,',
    killedBy: ['I25'],
  },
  {
    id: 'M49',
    what: 'a claim trusts the index: neither state nor counter nor nonce is compared',
    file: STATEMENTS,
    from: '#nonce = :observedNonce',
    to: '(#nonce = :observedNonce OR #nonce <> :observedNonce)',
    also: [
      {
        file: STATEMENTS,
        from: "export const IS_DUE = '#state = :ready AND #leaseCounter = :observedCounter AND #readyAt <= :now';",
        to: "export const IS_DUE = '(#state = :ready OR #state <> :ready) AND (#leaseCounter = :observedCounter OR #leaseCounter <> :observedCounter) AND #readyAt <= :now';",
      },
    ],
    killedBy: ['I14'],
  },
  {
    id: 'M52',
    what: 'a completion does not compare session and counter',
    file: STATEMENTS,
    from: `return updateTask('task.complete', table, claim, stamp, {\n    guard: \`\${IS_MINE} AND \${HAS_NO_FOLLOWER}\`,`,
    to:
      `return updateTask('task.complete', table, claim, stamp, {\n    guard: ('#state = :running AND ` +
      `(#leaseCounter <> :counter OR #leaseCounter = :counter) AND (#session <> :session OR #session = :session)'),`,
    killedBy: ['I16'],
    changes: { late: 0.15, latestMs: 30_000, freezeEveryMs: 4_000 },
  },
  {
    id: 'M51',
    what: 'progress does not compare session and counter',
    file: STATEMENTS,
    from: 'guard: `${IS_MINE} AND #sequence < :sequence`,',
    to: "guard: `${('#state = :running AND (#leaseCounter <> :counter OR #leaseCounter = :counter) AND (#session <> :session OR #session = :session)')} AND #sequence < :sequence`,",
    killedBy: ['I9'],
  },
  {
    id: 'X4',
    what: 'a release forgets all attempts so far',
    file: STATEMENTS,
    from: 'effect: `SET #state = :ready, #attempts = #attempts - :one, #nonce = :nonce, ${remember(claim)}${count} ${LEAVE_CLAIM}${forget}`,',
    to: 'effect: `SET #state = :ready, #attempts = :one - :one, #nonce = :nonce, ${remember(claim)}${count} ${LEAVE_CLAIM}${forget}`,',
    killedBy: ['I18', 'I24'],
  },
  {
    id: 'X72',
    what: 'a worker claims tasks whose names it does not know',
    file: WORKER,
    from: 'definition === undefined && !isOverdue(candidate, runtime.clock.now())',
    to: 'false',
    also: [{ file: WORKER, from: '!isClaimed(claimed) || definition === undefined', to: '(!isClaimed(claimed))' }],
    killedBy: ['NAME'],
  },
  {
    id: 'M92',
    what: 'a caller recognizes its own put by the time of its creation',
    file: CREATED_BY,
    from: 'current.createdBy === (isNamed ? createdByOf(nonce) : undefined)',
    to: '(isNamed ? current.createdAt === now : current.createdBy === undefined)',
    killedBy: ['CREATED'],
    changes: RIVALS,
  },
  {
    id: 'M94',
    what: 'an operator whose cancellation got no response cancels whatever stands there next',
    file: 'shared/tasks/queue/task-operator.ts',
    from: 'if (task?.nonce !== seen?.nonce) ensureUnwritten',
    to: 'if (task === null) ensureUnwritten',
    killedBy: ['TOLD'],
    changes: RIVALS,
  },
  {
    id: 'M96',
    what: 'a cancellation by an operator leaves no entry in the list of finished tasks',
    file: 'shared/tasks/rows/task/task-endings.ts',
    from: 'cancelWaitingTask(this.#table, observed, cancellation, ending)',
    to: 'cancelWaitingTask(this.#table, observed, cancellation, stamp)',
    killedBy: ['LISTED'],
    changes: { listing: true, operator: true },
  },
];
