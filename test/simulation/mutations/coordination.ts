import type { Mutant } from './mutation.ts';

const SEMAPHORE = 'shared/dynamo/semaphore/statements.ts';
const WAIT_GROUP = 'shared/dynamo/waitgroup/statements.ts';
const changes = { coordinationShare: 0.8, lockShare: 0 } as const;

export const COORDINATION_MUTANTS: readonly Mutant[] = [
  {
    id: 'M41',
    what: 'an admission does not count what it takes',
    edits: [
      {
        file: SEMAPHORE,
        find: '`#free = #free - :permits, ${TOUCH}`,',
        replace: '`#free = if_not_exists(#free, :permits), ${TOUCH}`,',
      },
    ],
    killedBy: ['I11'],
    changes,
  },
  {
    id: 'M42',
    what: 'a release does not compare the token',
    edits: [
      {
        file: SEMAPHORE,
        find: "const IS_HELD = '#holders.#PERMIT = :token';",
        replace: "const IS_HELD = '(#holders.#PERMIT = :token OR #holders.#PERMIT <> :token)';",
      },
    ],
    killedBy: ['I11'],
    profile: 'network',
    changes,
  },
  {
    id: 'M43',
    what: 'a contender that looks before it enters finds room for one more than there is',
    edits: [
      {
        file: 'shared/semaphore/semaphore.ts',
        find: 'return isItsTurn && semaphore.free >= claim.permits &&',
        replace: 'return isItsTurn && semaphore.free >= claim.permits - 1 &&',
      },
    ],
    killedBy: ['I11'],
    changes,
  },
  {
    id: 'M43b',
    what: 'an admission does not ask whether there is room',
    edits: [
      {
        file: SEMAPHORE,
        find: "'#free >= :permits AND size",
        replace: "'(#free >= :permits OR #free < :permits) AND size",
      },
    ],
    killedBy: ['I11'],
    changes,
  },
  {
    id: 'M44',
    what: 'releasing a permit that is not there makes room',
    edits: [
      {
        file: SEMAPHORE,
        find: 'guard: `${IS_HELD} OR ${IS_EVICTED}`,',
        replace:
          "guard: 'attribute_not_exists(#holders.#PERMIT) OR #holders.#PERMIT = :token OR #holders.#PERMIT <> :token',",
      },
    ],
    killedBy: ['I11'],
    changes,
  },
  {
    id: 'M45',
    what: 'a limit that is lowered leaves the room as it was',
    edits: [
      {
        file: 'shared/semaphore/semaphore.ts',
        find: 'return { ...semaphore, limit, free: limit - permitsHeld(semaphore.holders) };',
        replace: 'return { ...semaphore, limit };',
      },
    ],
    killedBy: ['I11', 'I12'],
    changes,
  },
  {
    id: 'X15',
    what: 'a contender that is not fair enters before those in the queue',
    edits: [
      { file: SEMAPHORE, find: '${HAS_ROOM} AND ${NOBODY_QUEUES} AND', replace: '${HAS_ROOM} AND' },
      {
        file: 'shared/semaphore/semaphore.ts',
        find: 'const isItsTurn = first === undefined || isSamePermit(first, claim);',
        replace: 'const isItsTurn = first !== claim;',
      },
    ],
    killedBy: ['L5'],
    changes,
  },
  {
    id: 'X19',
    what: 'a contender prunes the holders that it has not heard of lately',
    edits: [
      {
        file: 'shared/semaphore/survey.ts',
        find: "standings.get(session)?.kind === 'free'",
        replace: "standings.get(session)?.kind !== 'closed'",
      },
    ],
    killedBy: ['I25', 'I11'],
    changes,
  },
  {
    id: 'X52',
    what: 'a holder does not listen when its heartbeat says that its permit was evicted',
    edits: [
      {
        file: 'shared/semaphore/permit.ts',
        find: "this.#end(this.#loss('invalidated', 'it was evicted by an operator'));",
        replace: '',
      },
    ],
    killedBy: ['I1'],
    changes,
  },
  {
    id: 'X63',
    what: 'a holder takes its permit although it was evicted before the answer came (found by the simulation)',
    edits: [
      {
        file: 'shared/semaphore/contender.ts',
        find: 'if (permit?.closedUntil !== undefined)',
        replace: 'if (permit?.closedUntil === Infinity)',
      },
      {
        file: 'shared/session/keep-alive.ts',
        find: 'if (this.#told.has(revocation))',
        replace: "if (revocation === '')",
      },
    ],
    killedBy: ['I1'],
    profile: 'network',
    changes: { ...changes, replyLost: 0.3 },
  },
  {
    id: 'M46',
    what: 'a member that has ended ends again',
    edits: [
      {
        file: WAIT_GROUP,
        find: "const IS_PENDING = '#state = :pending';",
        replace: "const IS_PENDING = '(#state = :pending OR #state <> :pending)';",
      },
    ],
    killedBy: ['I13'],
    changes,
  },
  {
    id: 'M47',
    what: 'members are added to a group that is sealed, or over',
    edits: [
      {
        file: WAIT_GROUP,
        find: 'ConditionExpression: IS_IN_STATE, ExpressionAttributeNames: namesIn(IS_IN_STATE),',
        replace:
          "ConditionExpression: '(#generation = :generation OR #generation <> :generation) AND (#state = :expected OR #state <> :expected)', ExpressionAttributeNames: namesIn(IS_IN_STATE),",
      },
    ],
    killedBy: ['I13'],
    changes,
  },
  {
    id: 'M48',
    what: 'a wait reads members that may be out of date',
    edits: [{ file: WAIT_GROUP, find: 'ConsistentRead: true,', replace: 'ConsistentRead: false,' }],
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
        find: "effect: `SET #state = :ended, ${TOUCH}`, values: { ':pending': 'pending', ':ended': 'done', ...groupTouchValues(stamp) },",
        replace:
          "effect: `SET #state = :ended, ${TOUCH}`, values: { ':pending': 'pending', ':ended': 'done', ...groupTouchValues(stamp), ':ttl': ttlEpochSeconds(stamp.now, RETENTION_DAYS.lease) },",
      },
    ],
    killedBy: ['I13'],
    changes: { ...changes, leap: true },
  },
  {
    id: 'X8',
    what: 'adding a member again leases it to the session that adds it (found by the simulation)',
    edits: [
      { file: WAIT_GROUP, find: "':session': session ?? NO_SESSION,", replace: "':session': session," },
      {
        file: WAIT_GROUP,
        find: "#session = if_not_exists(#session, :session), ' +",
        replace: "' + (session === undefined ? '' : '#session = if_not_exists(#session, :session), ') +",
      },
    ],
    killedBy: ['I13'],
    changes,
  },
  {
    id: 'X14',
    what: 'a bucket gives what it has not',
    edits: [
      {
        file: 'shared/dynamo/ratelimit/statements.ts',
        find: 'AND #emptyAt <= :enoughSince AND',
        replace: 'AND (#emptyAt <= :enoughSince OR #emptyAt > :enoughSince) AND',
      },
    ],
    killedBy: ['RATE'],
    changes,
  },
  {
    id: 'X79',
    what: 'a bucket keeps what flowed in beyond its brim',
    edits: [
      {
        file: 'shared/dynamo/ratelimit/statements.ts',
        find: "guard: '#emptyAt >= :fullSince AND",
        replace: "guard: '(#emptyAt >= :fullSince OR #emptyAt < :fullSince) AND",
      },
    ],
    killedBy: ['RATE'],
    changes,
  },
  {
    id: 'X80',
    what: 'a take whose answer was lost takes its tokens twice',
    edits: [
      {
        file: 'shared/dynamo/ratelimit/statements.ts',
        find: 'AND #nonce <> :nonce',
        replace: 'AND (#nonce <> :nonce OR #nonce = :nonce)',
      },
    ],
    killedBy: ['RATE'],
    profile: 'network',
    changes: { ...changes, replyLost: 0.2 },
  },
  {
    id: 'X81',
    what: 'a bucket from which tokens were taken meanwhile is taken to be full',
    edits: [
      {
        file: 'shared/dynamo/ratelimit/statements.ts',
        find: '(#v = :v AND #emptyAt < :fullSince)',
        replace: '(#v = :v AND (#emptyAt < :fullSince OR #emptyAt >= :fullSince))',
      },
    ],
    killedBy: ['RATE'],
    changes,
  },
];
