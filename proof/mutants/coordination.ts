import type { Mutant } from './mutation.ts';

const SEMAPHORE = 'shared/coordination/semaphore/row/semaphore-statements.ts';
const RULES = 'shared/coordination/semaphore/semaphore.ts';
const RATE_LIMIT = 'shared/coordination/ratelimit/row/ratelimit-statements.ts';
const WAIT_GROUP = 'shared/coordination/waitgroup/row/waitgroup-statements.ts';
const changes = { coordinationShare: 0.8, lockShare: 0 } as const;

export const COORDINATION_MUTANTS: readonly Mutant[] = [
  {
    id: 'M41',
    what: 'an admission does not count what it takes',
    swaps: [{ file: SEMAPHORE, from: '#free = #free - :permits', to: '#free = if_not_exists(#free, :permits)' }],
    killedBy: ['I11'],
    changes,
  },
  {
    id: 'M42',
    what: 'a release does not compare the token',
    swaps: [
      {
        file: SEMAPHORE,
        from: '#holders.#PERMIT = :token',
        to: '(#holders.#PERMIT = :token OR #holders.#PERMIT <> :token)',
      },
    ],
    killedBy: ['I11'],
    profile: 'network',
    changes,
  },
  {
    id: 'M43b',
    what: 'an admission does not ask whether there is room',
    swaps: [{ file: SEMAPHORE, from: '#free >= :permits', to: '(#free >= :permits OR #free < :permits)' }],
    killedBy: ['I11'],
    changes,
  },
  {
    id: 'M44',
    what: 'releasing a permit that is not there makes room',
    swaps: [
      {
        file: SEMAPHORE,
        from: '`(${IS_HELD} OR ${IS_EVICTED}) AND ${NOT_LOWERED}`',
        to: "('attribute_not_exists(#holders.#PERMIT) OR #holders.#PERMIT = :token OR #holders.#PERMIT <> :token')",
      },
    ],
    killedBy: ['I11'],
    changes,
  },
  {
    id: 'M45',
    what: 'a limit that is lowered leaves the room as it was',
    swaps: [{ file: RULES, from: 'free: limit - permitsHeld(semaphore.holders)', to: '' }],
    killedBy: ['I11', 'I12'],
    changes,
  },
  {
    id: 'X15',
    what: 'a contender that is not fair enters before those in the queue',
    swaps: [
      { file: SEMAPHORE, from: ' AND ${NOBODY_QUEUES}', to: '' },
      { file: RULES, from: 'first === undefined || isSamePermit(first, claim)', to: 'true' },
    ],
    killedBy: ['L5'],
    changes,
  },
  {
    id: 'X63',
    what: 'a holder takes its permit although it was evicted before the answer came (found by the simulation)',
    swaps: [
      {
        file: 'shared/coordination/semaphore/semaphore-contender.ts',
        from: 'permit?.closedUntil !== undefined',
        to: 'false',
      },
      { file: 'shared/session/keep-alive.ts', from: 'this.#told.has(revocation)', to: 'false' },
    ],
    killedBy: ['I1'],
    profile: 'network',
    changes: { ...changes, replyLost: 0.3 },
  },
  {
    id: 'X99',
    what: 'a blind request is taken although its session has left since',
    swaps: [
      { file: SEMAPHORE, from: '#floor < :since', to: '(#floor < :since OR #floor >= :since)' },
      { file: SEMAPHORE, from: '#left.#SESSION < :since', to: '(#left.#SESSION < :since OR #left.#SESSION >= :since)' },
    ],
    killedBy: ['I0', 'L12'],
    profile: 'row',
  },
  {
    id: 'X100',
    what: 'a release leaves no mark',
    swaps: [
      {
        file: SEMAPHORE,
        from: 'effect: `SET #free = #free + :permits, #left.#SESSION = :since, ${TOUCH} REMOVE #holders.#PERMIT`,',
        to: 'effect: `SET #free = #free + :permits, #left.#SESSION = if_not_exists(#left.#SESSION, :one), ${TOUCH} REMOVE #holders.#PERMIT`,',
      },
    ],
    killedBy: ['I0', 'L12'],
    profile: 'row',
  },
  {
    id: 'X101',
    what: 'a caller is told that there is no room, and its claim is not barred',
    swaps: [
      {
        file: SEMAPHORE,
        from: 'effect: `SET #left.#SESSION = :since, ${TOUCH}`,',
        to: 'effect: `SET #left.#SESSION = if_not_exists(#left.#SESSION, :one), ${TOUCH}`,',
      },
    ],
    killedBy: ['I0', 'L12'],
    profile: 'row',
  },
  {
    id: 'M46',
    what: 'a member that has ended ends again',
    swaps: [{ file: WAIT_GROUP, from: '#state = :pending', to: '(#state = :pending OR #state <> :pending)' }],
    killedBy: ['I13'],
    changes,
  },
  {
    id: 'M48',
    what: 'a wait reads members that may be out of date',
    swaps: [{ file: WAIT_GROUP, from: 'true', to: 'false' }],
    killedBy: ['I13'],
    profile: 'store',
    changes: { ...changes, staleMs: 5_000 },
  },
  {
    id: 'X7',
    what: 'members that have ended are swept before their group is over (found by the simulation)',
    swaps: [
      {
        file: WAIT_GROUP,
        from: "{ ':pending': 'pending', ':ended': 'done', ...groupTouchValues(stamp) }",
        to: "(((values) => ({ ...values, ':ttl': values[':ttl'] - 86_400 * (RETENTION_DAYS.waitGroup - RETENTION_DAYS.lease) }))({ ':pending': 'pending', ':ended': 'done', ...groupTouchValues(stamp) }))",
      },
    ],
    killedBy: ['I13'],
    changes: { ...changes, leap: true },
  },
  {
    id: 'X8',
    what: 'adding a member again leases it to the session that adds it (found by the simulation)',
    swaps: [
      {
        file: WAIT_GROUP,
        from: '#session = if_not_exists(#session, :session),',
        to: "' + (session === undefined ? '' : '#session = if_not_exists(#session, :session),') + '",
      },
      { file: WAIT_GROUP, from: 'session ?? NO_SESSION', to: 'session' },
    ],
    killedBy: ['I13'],
    changes,
  },
  {
    id: 'X14',
    what: 'a bucket gives what it has not',
    swaps: [
      {
        file: RATE_LIMIT,
        from: '#emptyAt <= :enoughSince',
        to: '(#emptyAt <= :enoughSince OR #emptyAt > :enoughSince)',
      },
    ],
    killedBy: ['RATE'],
    changes,
  },
  {
    id: 'X79',
    what: 'a bucket keeps what flowed in beyond its brim',
    swaps: [
      { file: RATE_LIMIT, from: '#emptyAt >= :fullSince', to: '(#emptyAt >= :fullSince OR #emptyAt < :fullSince)' },
    ],
    killedBy: ['RATE'],
    changes,
  },
  {
    id: 'X80',
    what: 'a take whose answer was lost takes its tokens twice',
    swaps: [{ file: RATE_LIMIT, from: '#nonce <> :nonce', to: '(#nonce <> :nonce OR #nonce = :nonce)' }],
    killedBy: ['RATE'],
    profile: 'network',
    changes: { ...changes, replyLost: 0.2 },
  },
  {
    id: 'X81',
    what: 'a bucket from which tokens were taken meanwhile is taken to be full',
    swaps: [
      { file: RATE_LIMIT, from: '#emptyAt < :fullSince', to: '(#emptyAt < :fullSince OR #emptyAt >= :fullSince)' },
    ],
    killedBy: ['RATE'],
    changes,
  },
];
