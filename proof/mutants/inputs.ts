import { becomes, disarmed, rightOnly } from './change.ts';
import type { Mutant } from './mutation.ts';
import { branch, call, choice, clause, condition, operation } from './place.ts';

const RUN = 'shared/tasks/run/run.ts';
const TENANTS = 'shared/tasks/task/tenants.ts';
const OPERATOR = 'shared/tasks/rows/task/operator-statements.ts';
const FOLLOWER = 'shared/tasks/rows/task/follower-statements.ts';
const PAYLOAD = 'shared/tasks/rows/payload-statements.ts';

/** Large inputs, tenants, waiters, and ids that are asked for again. */
export const INPUT_MUTANTS: readonly Mutant[] = [
  {
    id: 'X36',
    what: 'a payload is removed however its task ended',
    edits: [
      {
        file: RUN,
        in: 'TaskRun.run',
        at: [branch('dropPayload'), operation('===', 'done')],
        change: ({ left }) => `${left} !== 'lost'`,
      },
    ],
    killedBy: ['PAYLOAD'],
    changes: { payloadShare: 0.6, lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X37',
    what: 'a payload stays when its task is done',
    edits: [
      {
        file: RUN,
        in: 'TaskRun.run',
        at: [branch('dropPayload'), operation('===', 'done')],
        change: ({ left }) => `${left} === 'dead'`,
      },
    ],
    killedBy: ['PAYLOAD'],
    changes: { payloadShare: 0.6, lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X38',
    what: 'a payload is removed though it belongs to other work by now',
    edits: disarmed(PAYLOAD, 'deletePayload', '#nonce = :nonce'),
    killedBy: ['PAYLOAD'],
    profile: 'network',
    changes: { payloadShare: 0.9, dedupShare: 1, late: 0.15, latestMs: 10_000, lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X39',
    what: 'what a new task refers to in the user’s store is removed as if the task had been there',
    edits: [
      {
        file: 'shared/tasks/queue/task-writer.ts',
        in: 'TaskWriter.put',
        at: operation('&&', 'created', 'replaced'),
        change: rightOnly,
      },
    ],
    killedBy: ['PAYLOAD'],
    changes: { bucket: true },
  },
  {
    id: 'X40',
    what: 'a worker takes all that a tenant has before it looks at the next',
    edits: [{ file: TENANTS, in: 'TenantWalk.next', at: operation('||', 'quantum'), change: rightOnly }],
    killedBy: ['TENANT'],
    changes: { tenants: true, hogTasks: 64, shards: 1, environments: 1, lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X41',
    what: 'a worker that has come to the last tenant does not go round',
    edits: [{ file: TENANTS, in: 'TenantWalk.next', at: condition('isLast'), change: becomes('true') }],
    killedBy: ['L3', 'TENANT'],
    changes: { tenants: true },
  },
  {
    id: 'M39',
    what: 'a contender that waits for a key asks again at once, without back-off or jitter',
    edits: [{ file: 'shared/core/wait/wait.ts', in: 'Wait.#pauseMs', at: call('fullJitterMs'), change: becomes('0') }],
    killedBy: ['LOAD'],
    changes: { lockShare: 0.8, coordinationShare: 0 },
  },
  {
    id: 'X47',
    what: 'of a start that is delivered twice, both deliveries work',
    edits: [
      {
        file: 'functions/continuation.ts',
        in: 'isFirstDelivery',
        at: operation('===', 'applied'),
        change: ({ text, left }) => `${text} || ${left} === 'refused'`,
      },
    ],
    killedBy: ['I20'],
    changes: { chains: true, doubleTick: 0.6 },
  },
  {
    id: 'X48',
    what: 'a task that stands in a line may be claimed before its turn',
    edits: [
      {
        file: 'shared/tasks/rows/task/place.ts',
        in: 'placeOf',
        at: choice('heldKey'),
        change: ({ whenFalse }) => whenFalse,
      },
    ],
    killedBy: ['ORDER'],
    changes: { lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X42',
    what: 'a task is given other work although it runs',
    edits: disarmed(OPERATOR, 'replaceTask.guard', '#state = :ready', '#nonce = :observedNonce'),
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
  },
  {
    id: 'X43',
    what: 'other work under an id finds what the work before it has left (found by the simulation)',
    edits: [
      {
        file: OPERATOR,
        in: 'replaceTask.effect',
        at: clause(', #progress, #children, #childrenQueue, #deaths, #failingSince, #handBacks'),
        change: 'drop',
      },
    ],
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
  },
  {
    id: 'X96',
    what: 'an attempt ends without regard to what follows it (found by use)',
    edits: [
      {
        file: 'shared/tasks/rows/task/task-statements.ts',
        in: 'HAS_NO_FOLLOWER',
        change: becomes("'attribute_exists(#pk)'"),
      },
    ],
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
  },
  {
    id: 'X97',
    what: 'the first request that follows an attempt stays, and newer ones are said to be taken',
    edits: [
      {
        file: 'shared/tasks/queue/task-writer.ts',
        in: 'TaskWriter.#follow',
        at: call('follow'),
        change: ({ text }) => `(follower === undefined ? ${text} : { kind: 'applied' })`,
      },
    ],
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
  },
  {
    id: 'X98',
    what: 'an attempt ends with the follower that it has seen, although a newer one has come',
    edits: disarmed(FOLLOWER, 'promoteFollower.guard', '#follower.#nonce = :followerNonce'),
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
  },
  {
    id: 'X56',
    what: 'an enqueue whose answer was lost does not know its own work again (found by the simulation)',
    edits: [
      {
        file: 'shared/tasks/queue/task-adder.ts',
        in: 'hasBegun',
        at: operation('===', 'createdAt'),
        change: becomes('false'),
      },
    ],
    killedBy: ['I2', 'I19'],
    profile: 'network',
    changes: { dedupShare: 1, replyLost: 0.1 },
  },
  {
    id: 'X44',
    what: 'other work starts over although the work before it has not ended as it was seen',
    edits: disarmed(OPERATOR, 'renewTask.guard', '#state = :observedState', '#nonce = :observedNonce'),
    killedBy: ['I16', 'I19', 'I0'],
    profile: 'network',
    changes: { dedupShare: 1, late: 0.15, latestMs: 5_000 },
  },
];
