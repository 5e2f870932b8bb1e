import { becomes, disarmed } from './change.ts';
import type { Mutant } from './mutation.ts';
import { call, choice, clause, condition } from './place.ts';

const TENANTS = 'shared/tasks/task/tenants.ts';
const OPERATOR = 'shared/tasks/rows/task/operator-statements.ts';
const FOLLOWER = 'shared/tasks/rows/task/follower-statements.ts';
const PAYLOAD = 'shared/tasks/rows/payload-statements.ts';

/** Large inputs, tenants, waiters, and ids that are asked for again. */
export const INPUT_MUTANTS: readonly Mutant[] = [
  {
    id: 'X38',
    what: 'a payload is removed though it belongs to other work by now',
    edits: disarmed(PAYLOAD, 'deletePayload', '#nonce = :nonce'),
    killedBy: ['PAYLOAD'],
    profile: 'network',
    changes: { payloadShare: 0.9, dedupShare: 1, late: 0.15, latestMs: 10_000, lockShare: 0, coordinationShare: 0 },
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
    id: 'X98',
    what: 'an attempt ends with the follower that it has seen, although a newer one has come',
    edits: disarmed(FOLLOWER, 'promoteFollower.guard', '#follower.#nonce = :followerNonce'),
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
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
