import type { Mutant } from './mutation.ts';

const PAYLOAD = 'shared/dynamo/payload/statements.ts';

/** Large inputs, tenants, waiters, and ids that are asked for again. */
export const INPUT_MUTANTS: readonly Mutant[] = [
  {
    id: 'X36',
    what: 'a payload is removed however its task ended',
    edits: [
      {
        file: 'shared/run/run.ts',
        find: "if (settlement === 'done') await this.#aside.dropPayload();",
        replace: "if (settlement !== 'lost') await this.#aside.dropPayload();",
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
        file: 'shared/run/run.ts',
        find: "if (settlement === 'done') await this.#aside.dropPayload();",
        replace: "if (settlement === 'dead') await this.#aside.dropPayload();",
      },
    ],
    killedBy: ['PAYLOAD'],
    changes: { payloadShare: 0.6, lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X38',
    what: 'a payload is removed though it belongs to other work by now',
    edits: [
      {
        file: PAYLOAD,
        find: "const guard = '#nonce = :nonce';",
        replace: "const guard = '(#nonce = :nonce OR #nonce <> :nonce)';",
      },
    ],
    killedBy: ['PAYLOAD'],
    profile: 'network',
    changes: { payloadShare: 0.9, dedupShare: 1, late: 0.15, latestMs: 10_000, lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X39',
    what: 'what a new task refers to in the user’s store is removed as if the task had been there',
    edits: [
      {
        file: 'shared/queue/task-writer.ts',
        find: 'if (!enqueued.created && !enqueued.replaced) await this.#discard(task);',
        replace: 'if (!enqueued.replaced) await this.#discard(task);',
      },
    ],
    killedBy: ['PAYLOAD'],
    changes: { bucket: true },
  },
  {
    id: 'X40',
    what: 'a worker takes all that a tenant has before it looks at the next',
    edits: [
      {
        file: 'shared/task/tenants.ts',
        find: 'if (taken >= quantum || hint.readyAt > now) {',
        replace: 'if (hint.readyAt > now) {',
      },
    ],
    killedBy: ['TENANT'],
    changes: { tenants: true, hogTasks: 64, shards: 1, environments: 1, lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X41',
    what: 'a worker that has come to the last tenant does not go round',
    edits: [
      {
        file: 'shared/task/tenants.ts',
        find: 'if (!isLast) continue;',
        replace: 'if (!isLast || seen >= 0) continue;',
      },
    ],
    killedBy: ['L3', 'TENANT'],
    changes: { tenants: true },
  },
  {
    id: 'M39',
    what: 'a contender that waits for a key asks again at once, without back-off or jitter',
    edits: [
      {
        file: 'shared/wait/wait.ts',
        find: 'return Math.min(thenMs, fullJitterMs(random, this.#backoff, looks));',
        replace: 'return Math.min(thenMs, 0 * looks);',
      },
    ],
    killedBy: ['LOAD'],
    changes: { lockShare: 0.8, coordinationShare: 0 },
  },
  {
    id: 'X47',
    what: 'of a start that is delivered twice, both deliveries work',
    edits: [
      {
        file: 'functions/continuation.ts',
        find: "return outcome.kind === 'applied';",
        replace: "return outcome.kind === 'applied' || outcome.kind === 'refused';",
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
        file: 'shared/dynamo/task/place.ts',
        find: "[isHeld ? 'heldKey' : indexKeyOf(task)]: partitionOf(task, shards),",
        replace: '[indexKeyOf(task)]: partitionOf(task, shards),',
      },
    ],
    killedBy: ['ORDER'],
    changes: { lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X42',
    what: 'a task is given other work although it runs',
    edits: [
      {
        file: 'shared/dynamo/task/operator-statements.ts',
        find: "return updateStatement('task.replace', { table, key: taskKey(observed.queue, observed.id), guard: '#state = :ready AND #nonce = :observedNonce',",
        replace:
          "return updateStatement('task.replace', { table, key: taskKey(observed.queue, observed.id), guard: '(#state = :ready OR #state <> :ready) AND (#nonce = :observedNonce OR #nonce <> :observedNonce)',",
      },
    ],
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
  },
  {
    id: 'X43',
    what: 'other work under an id finds what the work before it has left (found by the simulation)',
    edits: [
      {
        file: 'shared/dynamo/task/operator-statements.ts',
        find: '${dropped(task)}, #progress, #children, #deaths, #failingSince, #handBacks${',
        replace: '${dropped(task)}${',
      },
    ],
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
  },
  {
    id: 'X56',
    what: 'an enqueue whose answer was lost does not know its own work again (found by the simulation)',
    edits: [
      {
        file: 'shared/queue/task-adder.ts',
        find: "return outcome.earlierAttempt === 'unknown' && outcome.current?.createdAt === now;",
        replace: "return outcome.earlierAttempt === 'unknown' && outcome.current?.createdAt === -now;",
      },
    ],
    killedBy: ['I2', 'I19'],
    profile: 'network',
    changes: { dedupShare: 1, replyLost: 0.1 },
  },
  {
    id: 'X44',
    what: 'other work starts over although the work before it has not ended as it was seen',
    edits: [
      {
        file: 'shared/dynamo/task/operator-statements.ts',
        find: "return updateStatement('task.renew', { table, key: taskKey(observed.queue, observed.id), guard: '#state = :observedState AND #nonce = :observedNonce',",
        replace:
          "return updateStatement('task.renew', { table, key: taskKey(observed.queue, observed.id), guard: '(#state = :observedState OR #state <> :observedState) AND (#nonce = :observedNonce OR #nonce <> :observedNonce)',",
      },
    ],
    killedBy: ['I16', 'I19', 'I0'],
    profile: 'network',
    changes: { dedupShare: 1, late: 0.15, latestMs: 5_000 },
  },
];
