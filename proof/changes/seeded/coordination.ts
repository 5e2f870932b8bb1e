import type { Mutant } from '../change.ts';

const SEMAPHORE = 'shared/coordination/semaphore/row/semaphore-statements.ts';
const RULES = 'shared/coordination/semaphore/semaphore.ts';
const RATE_LIMIT = 'shared/coordination/ratelimit/row/ratelimit-statements.ts';
const WAIT_GROUP = 'shared/coordination/waitgroup/row/waitgroup-statements.ts';
const changes = { coordinationShare: 0.8, lockShare: 0 } as const;

export const COORDINATION_MUTANTS: readonly Mutant[] = [
  {
    id: 'M41',
    what: 'an admission does not count what it takes',
    file: SEMAPHORE,
    from: '#free = #free - :permits',
    to: '#free = if_not_exists(#free, :permits)',
    killedBy: ['I11'],
    changes,
  },
  {
    id: 'M45',
    what: 'a limit that is lowered leaves the room as it was',
    file: RULES,
    from: ', free: capacityOf({ ...semaphore, limit }) - permitsHeld(semaphore.holders)',
    to: '',
    killedBy: ['I11', 'I12'],
    changes,
  },
  {
    id: 'X126',
    what: 'a contender takes the capacity of an evicted permit before it opens',
    file: RULES,
    from: '(holder.closedUntil === undefined || openBefore < holder.closedUntil)',
    to: '(holder.closedUntil === undefined)',
    killedBy: ['I11', 'I7'],
    changes,
  },
  {
    id: 'X15',
    what: 'a contender that is not fair enters before those in the queue',
    file: SEMAPHORE,
    from: ' AND ${NOBODY_QUEUES}',
    to: '',
    also: [{ file: RULES, from: 'first === undefined || isSamePermit(first, claim)', to: 'true' }],
    killedBy: ['L5'],
    changes,
  },
  {
    id: 'X100',
    what: 'a release leaves no mark',
    file: SEMAPHORE,
    from: 'effect: `SET #free = #free + :permits, #left.#SESSION = :since, ${TOUCH} REMOVE #holders.#PERMIT`,',
    to: 'effect: `SET #free = #free + :permits, #left.#SESSION = if_not_exists(#left.#SESSION, :one), ${TOUCH} REMOVE #holders.#PERMIT`,',
    killedBy: ['I0', 'L12'],
    profile: 'row',
  },
  {
    id: 'M48',
    what: 'a wait reads members that may be out of date',
    file: WAIT_GROUP,
    from: 'true',
    to: 'false',
    killedBy: ['I13'],
    profile: 'store',
    changes: { ...changes, staleMs: 5_000 },
  },
  {
    id: 'X14',
    what: 'a bucket gives what it has not',
    file: RATE_LIMIT,
    from: '#emptyAt <= :enoughSince',
    to: '(#emptyAt <= :enoughSince OR #emptyAt > :enoughSince)',
    killedBy: ['RATE'],
    changes,
  },
];
