import type { Mutant } from './mutation.ts';

const TENANTS = 'shared/tasks/task/tenants.ts';
const OPERATOR = 'shared/tasks/rows/task/operator-statements.ts';
const FOLLOWER = 'shared/tasks/rows/task/follower-statements.ts';
const PAYLOAD = 'shared/tasks/rows/payload-statements.ts';

/** Large inputs, tenants, waiters, and ids that are asked for again. */
export const INPUT_MUTANTS: readonly Mutant[] = [
  {
    id: 'X38',
    what: 'a payload is removed though it belongs to other work by now',
    swaps: [{ file: PAYLOAD, from: '#nonce = :nonce', to: '(#nonce = :nonce OR #nonce <> :nonce)' }],
    killedBy: ['PAYLOAD'],
    profile: 'network',
    changes: { payloadShare: 0.9, dedupShare: 1, late: 0.15, latestMs: 10_000, lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X41',
    what: 'a worker that has come to the last tenant does not go round',
    swaps: [{ file: TENANTS, from: '!isLast', to: 'true' }],
    killedBy: ['L3', 'TENANT'],
    changes: { tenants: true },
  },
  {
    id: 'M39',
    what: 'a contender that waits for a key asks again at once, without back-off or jitter',
    swaps: [{ file: 'shared/core/wait/wait.ts', from: 'fullJitterMs(random, this.#backoff, looks)', to: '0' }],
    killedBy: ['LOAD'],
    changes: { lockShare: 0.8, coordinationShare: 0 },
  },
  {
    id: 'X48',
    what: 'a task that stands in a line may be claimed before its turn',
    swaps: [
      {
        file: 'shared/tasks/rows/task/place.ts',
        from: "[isHeld ? 'heldKey' : indexKeyOf(task)]: partitionOf(task, shards),",
        to: '[(indexKeyOf(task))]: partitionOf(task, shards),',
      },
    ],
    killedBy: ['ORDER'],
    changes: { lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X42',
    what: 'a task is given other work although it runs',
    swaps: [
      {
        file: OPERATOR,
        from: `return updateStatement('task.replace', {\n    table,\n    key: taskKey(observed.queue, observed.id),\n    guard: '#state = :ready AND #nonce = :observedNonce',`,
        to: `return updateStatement('task.replace', {\n    table,\n    key: taskKey(observed.queue, observed.id),\n    guard: '(#state = :ready OR #state <> :ready) AND (#nonce = :observedNonce OR #nonce <> :observedNonce)',`,
      },
    ],
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
  },
  {
    id: 'X43',
    what: 'other work under an id finds what the work before it has left (found by the simulation)',
    swaps: [
      { file: OPERATOR, from: ', #progress, #children, #childrenQueue, #deaths, #failingSince, #handBacks', to: '' },
    ],
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
  },
  {
    id: 'X98',
    what: 'an attempt ends with the follower that it has seen, although a newer one has come',
    swaps: [
      {
        file: FOLLOWER,
        from: '#follower.#nonce = :followerNonce',
        to: '(#follower.#nonce = :followerNonce OR #follower.#nonce <> :followerNonce)',
      },
    ],
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
  },
  {
    id: 'X44',
    what: 'other work starts over although the work before it has not ended as it was seen',
    swaps: [
      {
        file: OPERATOR,
        from: `return updateStatement('task.renew', {\n    table,\n    key: taskKey(observed.queue, observed.id),\n    guard: '#state = :observedState AND #nonce = :observedNonce',`,
        to: `return updateStatement('task.renew', {\n    table,\n    key: taskKey(observed.queue, observed.id),\n    guard: '(#state = :observedState OR #state <> :observedState) AND (#nonce = :observedNonce OR #nonce <> :observedNonce)',`,
      },
    ],
    killedBy: ['I16', 'I19', 'I0'],
    profile: 'network',
    changes: { dedupShare: 1, late: 0.15, latestMs: 5_000 },
  },
];
