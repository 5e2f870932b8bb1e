import type { Mutant } from './mutation.ts';

const BATCH = 'shared/dynamo/batch/statements.ts';
const KEY = 'shared/dynamo/task-key/statements.ts';

/** What hangs on tasks, the dispatcher, and what operators do. */
export const FAMILY_MUTANTS: readonly Mutant[] = [
  {
    id: 'M53',
    what: 'a commit records its end without its result',
    edits: [
      {
        file: 'shared/dynamo/task/store.ts',
        find: 'statements.commitTask(table, claim, encode(result),',
        replace: 'statements.commitTask(table, claim, undefined,',
      },
    ],
    killedBy: ['I17'],
  },
  {
    id: 'X11',
    what: 'the last child of a batch calls nothing',
    edits: [
      {
        file: 'shared/dynamo/task/linked-rows.ts',
        find: 'return companionRefusal(woken, 1) === undefined ? woken : send([last]);',
        replace: 'return companionRefusal(woken, 1) === undefined && batch.id === undefined ? woken : send([last]);',
      },
      {
        file: 'shared/dynamo/task/linked-rows.ts',
        find: 'const woken = await send([last, ...this.#wakeWaiter(record.waiter, batch, stamp)]);',
        replace: 'const woken = await send([last]);',
      },
    ],
    killedBy: ['BATCH', 'L3'],
  },
  {
    id: 'X20',
    what: 'every child that ends calls the waiting task',
    edits: [
      { file: BATCH, find: "guard: '#pending > :one',", replace: "guard: '#pending > :one AND #pending < :one'," },
      { file: BATCH, find: "guard: '#pending = :one',", replace: "guard: '#pending >= :one'," },
    ],
    killedBy: ['BATCH'],
  },
  {
    id: 'X21',
    what: 'a child’s end is counted beside its transaction’s guard: an ended child ends again',
    edits: [
      {
        file: 'shared/dynamo/task/linked-rows.ts',
        find: 'if (record === undefined || record.pending === 0) return send([]);',
        replace: 'return send([]);',
      },
    ],
    killedBy: ['BATCH', 'L3'],
  },
  {
    id: 'X12',
    what: 'a task that ends keeps the place of its key',
    edits: [
      {
        file: 'shared/dynamo/task/linked-rows.ts',
        find: "key !== undefined && from === 'running'",
        replace: "key !== undefined && from === 'running' && to === 'ready'",
      },
    ],
    killedBy: ['KEY'],
  },
  {
    id: 'X13',
    what: 'a claim takes a place of its key though there is none',
    edits: [
      {
        file: KEY,
        find: "'(attribute_not_exists(#running) OR size(#running) < :limit)'",
        replace: "'(attribute_not_exists(#running) OR size(#running) < :limit OR size(#running) >= :limit)'",
      },
      { file: 'shared/task/key-limit.ts', find: 'if (state.running >= limit) return false;', replace: '' },
      {
        file: 'shared/task/key-limit.ts',
        find: 'export function hasRoom({ limit, rate }: KeyLimit,',
        replace: 'export function hasRoom({ rate }: KeyLimit,',
      },
    ],
    killedBy: ['KEY'],
  },
  {
    id: 'X22',
    what: 'the rate of a key is looked at, and not counted by the write',
    edits: [
      {
        file: KEY,
        find: 'AND #window = :window AND #started < :count`',
        replace: 'AND #window = :window AND (#started < :count OR #started >= :count)`',
      },
    ],
    killedBy: ['KEY'],
    changes: { concurrency: 5, environments: 5 },
  },
  {
    id: 'X9',
    what: 'a schedule moves on before its tasks are there',
    edits: [
      {
        file: 'shared/dispatch/recur.ts',
        find: 'let made = 0;',
        replace:
          'let made = 0; if (nextAt !== schedule.nextAt) await schedules?.advance(schedule, nextAt, stampOf(runtime));',
      },
    ],
    killedBy: ['SLOT'],
  },
  {
    id: 'X10',
    what: 'a tick is dispatched however often it is delivered',
    edits: [
      {
        file: 'shared/dispatch/dispatcher.ts',
        find: "if (taken.kind === 'refused' && taken.current?.by !== by) return",
        replace: "if (taken.kind === 'refused' && taken.current?.by === by) return",
      },
    ],
    killedBy: ['I20'],
    changes: { doubleTick: 0.6 },
  },
  {
    id: 'X18',
    what: 'a look that failed leaves its other reads behind (found by the simulation)',
    edits: [
      { file: 'shared/runtime/all-of.ts', find: 'if (failure !== undefined) throw failure.reason;', replace: '' },
      {
        file: 'shared/runtime/all-of.ts',
        find: 'await Promise.allSettled(values);',
        replace: 'await Promise.all(values).then(() => []);',
      },
    ],
    killedBy: ['L7'],
    changes: { outageEveryMs: 10_000, requestLost: 0.05, shards: 3 },
  },
  {
    id: 'X23',
    what: 'cancelling does not ask whether the task is still as it was seen',
    edits: [
      {
        file: 'shared/dynamo/task/operator-statements.ts',
        find: "guard: '#state = :ready AND #nonce = :observedNonce', effect: CANCEL,",
        replace:
          "guard: '(#state = :ready OR #state <> :ready) AND (#nonce = :observedNonce OR #nonce <> :observedNonce)', effect: CANCEL,",
      },
    ],
    killedBy: ['I16'],
    changes: { operator: true },
  },
  {
    id: 'X24',
    what: 'bringing back does not ask whether the task is still as it was seen',
    edits: [
      {
        file: 'shared/dynamo/task/operator-statements.ts',
        find: "return updateStatement('task.revive', { table, key: taskKey(observed.queue, observed.id), guard: '#state = :observedState AND #nonce = :observedNonce',",
        replace:
          "return updateStatement('task.revive', { table, key: taskKey(observed.queue, observed.id), guard: '(#state = :observedState OR #state <> :observedState) AND (#nonce = :observedNonce OR #nonce <> :observedNonce)',",
      },
    ],
    killedBy: ['I16', 'I0'],
    profile: 'network',
    changes: { operator: true },
  },
  {
    id: 'X70',
    what: "workers ignore how many shards the queue's row names",
    edits: [
      { file: 'shared/backlog/partitions.ts', find: 'this.#meetShards(this.#ports.shards() ?? 0);', replace: '' },
    ],
    killedBy: ['L3'],
    changes: { strayShards: 1 },
  },
  {
    id: 'X71',
    what: 'ticks do not look at the shard beyond those that are known',
    edits: [{ file: 'shared/dispatch/measure.ts', find: 'new Set([known, inTurn])', replace: 'new Set([inTurn])' }],
    killedBy: ['L3'],
    changes: { strayShards: 1 },
  },
];
