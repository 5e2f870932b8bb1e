import { becomes, disarmed, leftOnly } from './change.ts';
import type { Mutant } from './mutation.ts';
import { clause, condition, entry, operation, part } from './place.ts';

const SEMAPHORE = 'shared/coordination/semaphore/row/semaphore-statements.ts';
const RULES = 'shared/coordination/semaphore/semaphore.ts';
const RATE_LIMIT = 'shared/coordination/ratelimit/row/ratelimit-statements.ts';
const WAIT_GROUP = 'shared/coordination/waitgroup/row/waitgroup-statements.ts';
const changes = { coordinationShare: 0.8, lockShare: 0 } as const;

export const COORDINATION_MUTANTS: readonly Mutant[] = [
  {
    id: 'M41',
    what: 'an admission does not count what it takes',
    edits: [
      {
        file: SEMAPHORE,
        in: 'admitHolder.effect',
        at: clause('#free = #free - :permits'),
        change: becomes('#free = if_not_exists(#free, :permits)'),
      },
    ],
    killedBy: ['I11'],
    changes,
  },
  {
    id: 'M42',
    what: 'a release does not compare the token',
    edits: disarmed(SEMAPHORE, 'IS_HELD', '#holders.#PERMIT = :token'),
    killedBy: ['I11'],
    profile: 'network',
    changes,
  },
  {
    id: 'M43b',
    what: 'an admission does not ask whether there is room',
    edits: disarmed(SEMAPHORE, 'HAS_ROOM', '#free >= :permits'),
    killedBy: ['I11'],
    changes,
  },
  {
    id: 'M44',
    what: 'releasing a permit that is not there makes room',
    edits: [
      {
        file: SEMAPHORE,
        in: 'releaseHolder.guard',
        change: becomes(
          "'attribute_not_exists(#holders.#PERMIT) OR #holders.#PERMIT = :token OR #holders.#PERMIT <> :token'",
        ),
      },
    ],
    killedBy: ['I11'],
    changes,
  },
  {
    id: 'M45',
    what: 'a limit that is lowered leaves the room as it was',
    edits: [{ file: RULES, in: 'withLimit', at: entry('free'), change: 'drop' }],
    killedBy: ['I11', 'I12'],
    changes,
  },
  {
    id: 'X15',
    what: 'a contender that is not fair enters before those in the queue',
    edits: [
      { file: SEMAPHORE, in: 'admitHolder.guard', at: part('NOBODY_QUEUES'), change: 'drop' },
      { file: RULES, in: 'canAcquire', at: operation('||', 'isSamePermit'), change: becomes('true') },
    ],
    killedBy: ['L5'],
    changes,
  },
  {
    id: 'X63',
    what: 'a holder takes its permit although it was evicted before the answer came (found by the simulation)',
    edits: [
      {
        file: 'shared/coordination/semaphore/semaphore-contender.ts',
        in: 'SemaphoreContender.#pursue',
        at: condition('closedUntil'),
        change: becomes('false'),
      },
      {
        file: 'shared/session/keep-alive.ts',
        in: 'SessionHolder.onRevoked',
        at: condition('#told'),
        change: becomes('false'),
      },
    ],
    killedBy: ['I1'],
    profile: 'network',
    changes: { ...changes, replyLost: 0.3 },
  },
  {
    id: 'X99',
    what: 'a blind request is taken although its session has left since',
    edits: disarmed(SEMAPHORE, 'IS_LATER', '#floor < :since', '#left.#SESSION < :since'),
    killedBy: ['I0', 'L12'],
    profile: 'row',
  },
  {
    id: 'X100',
    what: 'a release leaves no mark',
    edits: [
      {
        file: SEMAPHORE,
        in: 'releaseHolder.effect',
        at: clause('#left.#SESSION = :since'),
        change: becomes('#left.#SESSION = if_not_exists(#left.#SESSION, :one)'),
      },
    ],
    killedBy: ['I0', 'L12'],
    profile: 'row',
  },
  {
    id: 'X101',
    what: 'a caller is told that there is no room, and its claim is not barred',
    edits: [
      {
        file: SEMAPHORE,
        in: 'forgoClaim.effect',
        at: clause('#left.#SESSION = :since'),
        change: becomes('#left.#SESSION = if_not_exists(#left.#SESSION, :one)'),
      },
    ],
    killedBy: ['I0', 'L12'],
    profile: 'row',
  },
  {
    id: 'M46',
    what: 'a member that has ended ends again',
    edits: disarmed(WAIT_GROUP, 'IS_PENDING', '#state = :pending'),
    killedBy: ['I13'],
    changes,
  },
  {
    id: 'M48',
    what: 'a wait reads members that may be out of date',
    edits: [{ file: WAIT_GROUP, in: 'pageOfMembers.ConsistentRead', change: becomes('false') }],
    killedBy: ['I13'],
    profile: 'store',
    changes: { ...changes, staleMs: 5_000 },
  },
  {
    id: 'X7',
    what: 'members that have ended are swept before their group is over (found by the simulation)',
    edits: [
      {
        file: WAIT_GROUP,
        in: 'finishMember.values',
        change: ({ text }) =>
          `((values) => ({ ...values, ':ttl': values[':ttl'] - 86_400 * (RETENTION_DAYS.waitGroup - RETENTION_DAYS.lease) }))(${text})`,
      },
    ],
    killedBy: ['I13'],
    changes: { ...changes, leap: true },
  },
  {
    id: 'X8',
    what: 'adding a member again leases it to the session that adds it (found by the simulation)',
    edits: [
      { file: WAIT_GROUP, in: 'addMember.:session', at: operation('??'), change: leftOnly },
      {
        file: WAIT_GROUP,
        in: 'addMember',
        at: clause('#session = if_not_exists(#session, :session),'),
        change: ({ text }) => `' + (session === undefined ? '' : '${text}') + '`,
      },
    ],
    killedBy: ['I13'],
    changes,
  },
  {
    id: 'X14',
    what: 'a bucket gives what it has not',
    edits: disarmed(RATE_LIMIT, 'takeTokens.guard', '#emptyAt <= :enoughSince'),
    killedBy: ['RATE'],
    changes,
  },
  {
    id: 'X79',
    what: 'a bucket keeps what flowed in beyond its brim',
    edits: disarmed(RATE_LIMIT, 'takeTokens.guard', '#emptyAt >= :fullSince'),
    killedBy: ['RATE'],
    changes,
  },
  {
    id: 'X80',
    what: 'a take whose answer was lost takes its tokens twice',
    edits: disarmed(RATE_LIMIT, 'takeTokens.guard', '#nonce <> :nonce'),
    killedBy: ['RATE'],
    profile: 'network',
    changes: { ...changes, replyLost: 0.2 },
  },
  {
    id: 'X81',
    what: 'a bucket from which tokens were taken meanwhile is taken to be full',
    edits: disarmed(RATE_LIMIT, 'takeTokensFromFull.guard', '#emptyAt < :fullSince'),
    killedBy: ['RATE'],
    changes,
  },
];
