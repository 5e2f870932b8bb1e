import type { Mutant } from './mutation.ts';

const PAGE = 'shared/dynamo/statements/page.ts';
const PAYLOAD = 'shared/dynamo/statements/payload.ts';
const changes = { items: 30, lockShare: 0, coordinationShare: 0 } as const;

/** Small tasks that share rows, large inputs, tenants, and ids that are asked for again. */
export const PAGE_MUTANTS: readonly Mutant[] = [
  {
    id: 'X46',
    what: 'a page’s writes compare neither session nor counter',
    edits: [
      {
        file: PAGE,
        find: 'const IS_MY_NEXT = `${IS_MINE} AND #sequence < :sequence`;',
        replace:
          "const IS_MY_NEXT = '#state = :running AND (#leaseCounter <> :counter OR #leaseCounter = :counter) AND (#session <> :session OR #session = :session) AND #sequence < :sequence';",
      },
    ],
    killedBy: ['I9'],
    profile: 'network',
    changes: { ...changes, tasks: 4, late: 0.3, latestMs: 20_000, crashEveryMs: 3_000, freezeEveryMs: 3_000 },
  },
  {
    id: 'X26',
    what: 'what a page records has no order: a late request overwrites its successor',
    edits: [
      {
        file: PAGE,
        find: 'const IS_MY_NEXT = `${IS_MINE} AND #sequence < :sequence`;',
        replace: 'const IS_MY_NEXT = `${IS_MINE} AND (#sequence < :sequence OR #sequence >= :sequence)`;',
      },
    ],
    killedBy: ['PAGE'],
    profile: 'network',
    changes: { ...changes, late: 0.15, latestMs: 2_000, duplicate: 0.2 },
  },
  {
    id: 'X27',
    what: 'an item is cancelled although it has ended',
    edits: [
      {
        file: PAGE,
        find: "const IS_UNDECIDED = 'NOT contains(#done, :item) AND NOT contains(#moved, :item)';",
        replace:
          "const IS_UNDECIDED = '(contains(#done, :item) OR NOT contains(#done, :item)) AND (contains(#moved, :item) OR NOT contains(#moved, :item))';",
      },
      {
        file: 'shared/bulk/cancel-item.ts',
        find: "if (page.bulk.done.has(index)) return { kind: 'ended', state: 'done' };",
        replace: '',
      },
      {
        file: 'shared/bulk/cancel-item.ts',
        find: "if (!isOpen(page.bulk, index)) return { kind: 'missing' };",
        replace: '',
      },
    ],
    killedBy: ['PAGE'],
    changes: { ...changes, operator: true },
  },
  {
    id: 'X28',
    what: 'items that are recorded as done run again',
    edits: [
      {
        file: 'shared/bulk/page.ts',
        find: 'return !done.has(index) && !moved.has(index) && !cancelled.has(index);',
        replace: 'return (index % 2 === 0 || !done.has(index)) && !moved.has(index) && !cancelled.has(index);',
      },
    ],
    killedBy: ['PAGE'],
    changes,
  },
  {
    id: 'X29',
    what: 'a page that is told to stop ends as done, with items that nobody has begun',
    edits: [
      {
        file: 'shared/bulk/run-page.ts',
        find: 'if (this.#openItems().length > 0 && signal.aborted) throw signal.reason as Error;',
        replace: '',
      },
    ],
    killedBy: ['PAGE'],
    changes,
  },
  {
    id: 'X30',
    what: 'a take-over begins its page anew',
    edits: [
      {
        file: 'shared/dynamo/statements/task.ts',
        find: 'effect: `${TAKE}, ${remember(observed)}`,',
        replace: "effect: `${TAKE}, ${remember(observed)}${observed.bulk === undefined ? '' : ' REMOVE #done'}`,",
      },
    ],
    killedBy: ['PAGE'],
    changes: { ...changes, crashEveryMs: 4_000 },
  },
  {
    id: 'X31',
    what: 'an item that leaves its page gets no row',
    edits: [
      {
        file: 'shared/dynamo/page-store.ts',
        find: '[actionOf(created)]',
        replace: 'created === undefined ? [actionOf(created)] : []',
      },
    ],
    killedBy: ['PAGE'],
    changes,
  },
  {
    id: 'X32',
    what: 'an item that leaves its page forgets the attempts that it has had',
    edits: [
      { file: PAGE, find: '...item, attempts, leaseCounter', replace: '...item, attempts: attempts * 0, leaseCounter' },
    ],
    killedBy: ['PAGE'],
    changes,
  },
  {
    id: 'X33',
    what: 'an item that leaves its page starts its counter anew',
    edits: [{ file: PAGE, find: 'leaseCounter: Math.max(stamp.now, page.leaseCounter),', replace: 'leaseCounter: 0,' }],
    killedBy: ['I3'],
    changes,
  },
  {
    id: 'X34',
    what: 'the item that kills its workers stays in its page',
    edits: [
      {
        file: 'shared/bulk/run-page.ts',
        find: 'if (suspect === undefined) return true;',
        replace: 'if (suspect === undefined || suspect.index >= 0) return true;',
      },
    ],
    killedBy: ['L3'],
    changes,
  },
  {
    id: 'X45',
    what: 'who leaves a page right behind its suspect pays for the claim that the suspect ended (found by the simulation)',
    edits: [
      {
        file: 'shared/bulk/run-page.ts',
        find: "if (outcome.kind === 'applied') this.#page = { ...this.#page, attempts: this.#page.attempts - 1 };",
        replace: '',
      },
    ],
    killedBy: ['PAGE', 'I18'],
    changes: { ...changes, crashEveryMs: 3_000 },
  },
  {
    id: 'X53',
    what: 'an item that kills its workers is tried once more than its task may be',
    edits: [
      {
        file: 'shared/bulk/suspect.ts',
        find: 'isDead: attempts >= maxAttempts,',
        replace: 'isDead: attempts >= maxAttempts + 1,',
      },
    ],
    killedBy: ['I18'],
    changes,
  },
  {
    id: 'X54',
    what: 'an item that failed leaves its page as if it had not been attempted',
    edits: [
      {
        file: 'shared/bulk/departure.ts',
        find: 'readyAt: now, attempts: page.attempts, isSuspect: false };',
        replace: 'readyAt: now, attempts: page.attempts - 1, isSuspect: false };',
      },
    ],
    killedBy: ['PAGE'],
    changes,
  },
  {
    id: 'X55',
    what: 'the items behind a suspect that cannot leave their page run all the same (found by the simulation)',
    edits: [
      {
        file: 'shared/bulk/run-page.ts',
        find: "return outcome.kind !== 'canceled';",
        replace: 'return true;',
      },
    ],
    killedBy: ['L3'],
    changes: { ...changes, tasks: 2, crashEveryMs: 2_500 },
  },
  {
    id: 'X35',
    what: 'the end of an item is recorded when it begins',
    edits: [
      {
        file: 'shared/bulk/run-page.ts',
        find: "if ((await this.#runItem(index, signal)) === 'unsettled')",
        replace:
          "await this.#recorder.complete(index, undefined, undefined); if ((await this.#runItem(index, signal)) === 'unsettled')",
      },
    ],
    killedBy: ['PAGE'],
    changes: { ...changes, crashEveryMs: 4_000 },
  },
  {
    id: 'X36',
    what: 'a payload is removed however its task ended',
    edits: [
      {
        file: 'shared/task/run.ts',
        find: "if (settlement === 'done') await this.#dropPayload();",
        replace: "if (settlement !== 'lost') await this.#dropPayload();",
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
        file: 'shared/task/run.ts',
        find: "if (settlement === 'done') await this.#dropPayload();",
        replace: "if (settlement === 'dead') await this.#dropPayload();",
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
        file: 'shared/task/client.ts',
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
    what: 'whoever waits for a key asks again at once, without back-off or jitter',
    edits: [
      {
        file: 'shared/lock/patience.ts',
        find: 'return Math.min(thenMs, fullJitterMs(random, { baseMs: longestMs / GROWTH, capMs: longestMs }, attempt));',
        replace: 'return Math.min(thenMs, 0 * GROWTH * longestMs * attempt);',
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
        file: 'shared/dynamo/statements/task-place.ts',
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
        file: 'shared/dynamo/statements/task-operations.ts',
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
        file: 'shared/dynamo/statements/task-operations.ts',
        find: '${dropped(task)}, #progress, #children`,',
        replace: '${dropped(task)}`,',
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
        file: 'shared/task/client.ts',
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
    what: 'other work begins anew although the work before it has not ended as it was seen',
    edits: [
      {
        file: 'shared/dynamo/statements/task-operations.ts',
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
