import type { Mutant } from './mutation.ts';

const TASK_STORE = 'shared/tasks/rows/task/dynamo-task-store.ts';
const LINKED_ROWS = 'shared/tasks/rows/task/dependent-rows.ts';
const OPERATOR = 'shared/tasks/rows/task/operator-statements.ts';
const BATCH = 'shared/tasks/rows/batch-statements.ts';
const SLOT_MAKER = 'shared/tasks/rows/slot-maker.ts';
const KEY = 'shared/tasks/rows/key-statements.ts';

/** Each request may arrive a second time, up to some seconds later; some code goes on after a refused commit. */
const COPIES_OF_COMMITS = {
  profile: 'network',
  changes: { duplicate: 0.3, latestMs: 20_000, lockShare: 0, coordinationShare: 0, stock: 0 },
} as const;

/** Seeded bugs of rows that belong to tasks, of the dispatcher, and of operator actions. */
export const FAMILY_MUTANTS: readonly Mutant[] = [
  {
    id: 'M53',
    what: 'a commit records its end without its result',
    swaps: [
      {
        file: TASK_STORE,
        from: 'const own = commitTask(table, claim, encode(result), stamp);',
        to: 'const own = commitTask(table, claim, undefined, stamp);',
      },
    ],
    killedBy: ['I17'],
  },
  {
    id: 'X119',
    what: 'a commit does not ask whether it is barred',
    swaps: [
      {
        file: 'shared/tasks/rows/task/commit-statements.ts',
        from: 'guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER} AND #sequence < :sequence`,',
        to: 'guard: `${IS_MINE} AND ${HAS_NO_FOLLOWER} AND (#sequence < :sequence OR #sequence >= :sequence)`,',
      },
    ],
    killedBy: ['I0'],
    ...COPIES_OF_COMMITS,
  },
  {
    id: 'X20',
    what: 'every child that ends calls the waiting task',
    swaps: [
      { file: BATCH, from: '#pending > :one', to: '#pending > :one AND #pending < :one' },
      { file: BATCH, from: '#pending = :one', to: '#pending >= :one' },
    ],
    killedBy: ['BATCH'],
  },
  {
    id: 'X21',
    what: 'a child’s end is counted beside its transaction’s guard: an ended child ends again',
    swaps: [{ file: LINKED_ROWS, from: 'record === undefined || record.pending === 0', to: 'true' }],
    killedBy: ['BATCH', 'L3'],
  },
  {
    id: 'X121',
    what: 'a task that waits for its children keeps the slot of its key',
    swaps: [
      {
        file: TASK_STORE,
        from: "const outcome = await linked.commit({ task: claim, to: 'ready', own, batch, effects }, stamp, limits);",
        to: "const outcome = await linked.commit({ task: claim, to: 'ready', own, batch: batch, from: 'ready', effects }, stamp, limits);",
      },
    ],
    killedBy: ['KEY'],
  },
  {
    id: 'X122',
    what: 'a task whose worker died, and that is cancelled, keeps the slot of its key',
    swaps: [
      {
        file: 'shared/tasks/rows/task/cancelling.ts',
        from: "promote: (follower) => promoteFollower(table, observed, { how: 'cancelled', follower }, shards, stamp)",
        to: "promote: (follower) => promoteFollower(table, observed, { how: 'cancelled', follower }, shards, stamp), from: 'ready'",
      },
    ],
    killedBy: ['KEY'],
    changes: { operator: true },
  },
  {
    id: 'X123',
    what: 'a task that is handed back keeps the slot of its key',
    swaps: [
      {
        file: TASK_STORE,
        from: "promote: promoting(claim, { how: 'released' }, stamp)",
        to: "promote: promoting(claim, { how: 'released' }, stamp), from: 'ready'",
      },
    ],
    killedBy: ['KEY'],
  },
  {
    id: 'X124',
    what: 'a task that dies with its worker keeps the slot of its key',
    swaps: [
      {
        file: TASK_STORE,
        from: "promote: promoting(observed, { how: 'died', error }, stamp)",
        to: "promote: promoting(observed, { how: 'died', error }, stamp), from: 'ready'",
      },
    ],
    killedBy: ['KEY'],
    changes: { operator: true },
  },
  {
    id: 'X13',
    what: 'a claim takes a place of its key though there is none',
    swaps: [
      { file: KEY, from: '#running < :limit', to: '(#running < :limit OR #running >= :limit)' },
      { file: 'shared/tasks/task/key-limit.ts', from: 'if (state.running >= limit) return false;', to: ';' },
    ],
    killedBy: ['KEY'],
  },
  {
    id: 'X22',
    what: 'the rate of a key is looked at, and not counted by the write',
    swaps: [{ file: KEY, from: '#started < :count', to: '(#started < :count OR #started >= :count)' }],
    killedBy: ['KEY'],
    changes: { concurrency: 5, environments: 5 },
  },
  {
    id: 'X111',
    what: "a late dispatcher's step is not refused",
    swaps: [
      {
        file: 'shared/tasks/rows/schedule-statements.ts',
        from: '#nonce = :observedNonce',
        to: '(#nonce = :observedNonce OR #nonce <> :observedNonce)',
      },
    ],
    killedBy: ['SLOT'],
  },
  {
    id: 'X117',
    what: 'with replace a late dispatcher stops the task of its own slot, which another has made',
    swaps: [{ file: SLOT_MAKER, from: 'schedule.at < at', to: '(schedule.at <= at)' }],
    killedBy: ['OVERLAP'],
    changes: { overlap: 'replace' },
  },
  {
    id: 'X10',
    what: 'a tick is dispatched however often it is delivered',
    swaps: [
      {
        file: 'shared/tasks/dispatch/dispatcher.ts',
        from: 'taken.current?.by !== by',
        to: '(taken.current?.by === by)',
      },
    ],
    killedBy: ['I20'],
    changes: { doubleTick: 0.6 },
  },
  {
    id: 'X23',
    what: 'cancelling does not ask whether the task is still as it was seen',
    swaps: [
      {
        file: OPERATOR,
        from: `return updateStatement('task.cancel', {\n    table,\n    key: taskKey(observed.queue, observed.id),\n    guard: '#state = :ready AND #nonce = :observedNonce',`,
        to: `return updateStatement('task.cancel', {\n    table,\n    key: taskKey(observed.queue, observed.id),\n    guard: '(#state = :ready OR #state <> :ready) AND (#nonce = :observedNonce OR #nonce <> :observedNonce)',`,
      },
    ],
    killedBy: ['I16'],
    changes: { operator: true },
  },
  {
    id: 'X24',
    what: 'bringing back does not ask whether the task is still as it was seen',
    swaps: [
      {
        file: OPERATOR,
        from: `return updateStatement('task.revive', {\n    table,\n    key: taskKey(observed.queue, observed.id),\n    guard: '#state = :observedState AND #nonce = :observedNonce',`,
        to: `return updateStatement('task.revive', {\n    table,\n    key: taskKey(observed.queue, observed.id),\n    guard: '(#state = :observedState OR #state <> :observedState) AND (#nonce = :observedNonce OR #nonce <> :observedNonce)',`,
      },
    ],
    killedBy: ['I16', 'I0'],
    profile: 'network',
    changes: { operator: true },
  },
  {
    id: 'X70',
    what: "workers ignore how many shards the queue's row names",
    swaps: [
      { file: 'shared/tasks/picker/partitions.ts', from: 'this.#addShards(this.#ports.shards() ?? 0);', to: ';' },
    ],
    killedBy: ['L3'],
    changes: { strayShards: 1 },
  },
];
