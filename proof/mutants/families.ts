import { becomes, disarmed } from './change.ts';
import type { Mutant } from './mutation.ts';
import {
  argument,
  branch,
  choice,
  clause,
  condition,
  element,
  entry,
  operation,
  property,
  statement,
} from './place.ts';

const LINKED_ROWS = 'shared/tasks/rows/task/dependent-rows.ts';
const OPERATOR = 'shared/tasks/rows/task/operator-statements.ts';
const BATCH = 'shared/tasks/rows/batch-statements.ts';
const SLOT_MAKER = 'shared/tasks/rows/slot-maker.ts';
const RECUR = 'shared/tasks/dispatch/recur.ts';
const GIVE_SLOT = 'shared/tasks/schedule/give-slot.ts';
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
    edits: [
      {
        file: 'shared/tasks/rows/task/dynamo-task-store.ts',
        in: 'createTaskStore.commit',
        at: argument('commitTask', 2),
        change: becomes('undefined'),
      },
    ],
    killedBy: ['I17'],
  },
  {
    id: 'X118',
    what: 'no bar is raised before a commit is said to be refused: its copy applies later',
    edits: [
      {
        file: 'shared/tasks/run/run-context.ts',
        in: 'ClaimVerbs.#decided',
        at: condition('canceled'),
        change: becomes('true'),
      },
    ],
    killedBy: ['I0'],
    ...COPIES_OF_COMMITS,
  },
  {
    id: 'X119',
    what: 'a commit does not ask whether it is barred',
    edits: disarmed('shared/tasks/rows/task/commit-statements.ts', 'commitTask.guard', '#sequence < :sequence'),
    killedBy: ['I0'],
    ...COPIES_OF_COMMITS,
  },
  {
    id: 'X11',
    what: 'the last child of a batch wakes nothing',
    edits: [
      {
        file: LINKED_ROWS,
        in: 'DependentRows.#endChild',
        at: operation('===', 'nobody'),
        change: becomes('true'),
      },
    ],
    killedBy: ['BATCH', 'L3'],
  },
  {
    id: 'X92',
    what: 'retry forgets the children of a task (found by use)',
    edits: [
      {
        file: 'shared/tasks/rows/task/dynamo-task-operator-store.ts',
        in: 'createTaskOperatorStore.revive.keepsChildren',
        change: becomes('false'),
      },
    ],
    killedBy: ['BATCH'],
    changes: { operator: true },
  },
  {
    id: 'X93',
    what: 'an operator brings a task forward that waits for its children (found by use)',
    edits: [
      {
        file: 'shared/tasks/queue/task-operator.ts',
        in: 'TaskOperator.reschedule',
        at: operation('!==', 'children'),
        change: becomes('false'),
      },
    ],
    killedBy: ['BATCH'],
    changes: { operator: true },
  },
  {
    id: 'X20',
    what: 'every child that ends calls the waiting task',
    edits: [
      {
        file: BATCH,
        in: 'countDown.guard',
        at: clause('#pending > :one'),
        change: becomes('#pending > :one AND #pending < :one'),
      },
      { file: BATCH, in: 'countLast.guard', at: clause('#pending = :one'), change: becomes('#pending >= :one') },
    ],
    killedBy: ['BATCH'],
  },
  {
    id: 'X21',
    what: 'a child’s end is counted beside its transaction’s guard: an ended child ends again',
    edits: [{ file: LINKED_ROWS, in: 'DependentRows.#endChild', at: condition('pending'), change: becomes('true') }],
    killedBy: ['BATCH', 'L3'],
  },
  {
    id: 'X12',
    what: 'a task that ends keeps the place of its key',
    edits: [
      {
        file: LINKED_ROWS,
        in: 'DependentRows.#leaveKey',
        at: operation('!==', 'running'),
        change: ({ left }) => `${left} === 'ready'`,
      },
    ],
    killedBy: ['KEY'],
  },
  {
    id: 'X121',
    what: 'a task that waits for its children keeps the slot of its key',
    edits: [
      {
        file: 'shared/tasks/rows/task/dynamo-task-store.ts',
        in: 'createTaskStore.waitForChildren',
        at: entry('batch'),
        change: ({ text }) => `${text}, from: 'ready'`,
      },
    ],
    killedBy: ['KEY'],
  },
  {
    id: 'X13',
    what: 'a claim takes a place of its key though there is none',
    edits: [
      ...disarmed(KEY, 'HAS_ROOM', '#running < :limit'),
      { file: 'shared/tasks/task/key-limit.ts', in: 'hasCapacity', at: branch('running'), change: 'drop' },
    ],
    killedBy: ['KEY'],
  },
  {
    id: 'X22',
    what: 'the rate of a key is looked at, and not counted by the write',
    edits: disarmed(KEY, 'enterKey', '#started < :count'),
    killedBy: ['KEY'],
    changes: { concurrency: 5, environments: 5 },
  },
  {
    id: 'X9',
    what: 'a schedule moves on without the task of its slot',
    edits: [{ file: SLOT_MAKER, in: 'SlotMaker.make', at: element('creation'), change: 'drop' }],
    killedBy: ['SLOT'],
  },
  {
    id: 'X111',
    what: "a late dispatcher's step is not refused",
    edits: disarmed('shared/tasks/rows/schedule-statements.ts', 'IS_AS_OBSERVED', '#nonce = :observedNonce'),
    killedBy: ['SLOT'],
  },
  {
    id: 'X112',
    what: 'a slot is left out, and the schedule does not say so',
    edits: [{ file: RECUR, in: 'makeSlots', at: property('leftOut', 'overlap'), change: becomes('undefined') }],
    killedBy: ['SLOT'],
    changes: { overlap: 'skip' },
  },
  {
    id: 'X113',
    what: 'the last slot that was given a task is not kept',
    edits: [{ file: GIVE_SLOT, in: 'giveSlot', at: property('lastAt'), change: becomes('undefined') }],
    killedBy: ['SLOT'],
  },
  {
    id: 'X114',
    what: 'a task covers what came since its own slot',
    edits: [{ file: 'shared/tasks/schedule/schedule.ts', in: 'slotOf', at: property('since'), change: becomes('at') }],
    killedBy: ['SLOT'],
  },
  {
    id: 'X115',
    what: "a slot's task stands in no line: its schedule's policy is dropped",
    edits: [{ file: GIVE_SLOT, in: 'slotTaskOf', at: choice('allow'), change: becomes('task.line') }],
    killedBy: ['OVERLAP'],
    changes: { overlap: 'queue' },
  },
  {
    id: 'X116',
    what: 'with skip a slot is made while a task has not ended, and waits for it',
    edits: [{ file: GIVE_SLOT, in: 'giveSlot', at: property('onlyIfIdle'), change: becomes('false') }],
    killedBy: ['OVERLAP'],
    changes: { overlap: 'skip' },
  },
  {
    id: 'X117',
    what: 'with replace a late dispatcher stops the task of its own slot, which another has made',
    edits: [{ file: SLOT_MAKER, in: 'isEarlier', at: operation('<'), change: becomes('schedule.at <= at') }],
    killedBy: ['OVERLAP'],
    changes: { overlap: 'replace' },
  },
  {
    id: 'X10',
    what: 'a tick is dispatched however often it is delivered',
    edits: [
      {
        file: 'shared/tasks/dispatch/dispatcher.ts',
        in: 'dispatch',
        at: operation('!==', 'by'),
        change: ({ left, right }) => `${left} === ${right}`,
      },
    ],
    killedBy: ['I20'],
    changes: { doubleTick: 0.6 },
  },
  {
    id: 'X23',
    what: 'cancelling does not ask whether the task is still as it was seen',
    edits: disarmed(OPERATOR, 'cancelWaitingTask.guard', '#state = :ready', '#nonce = :observedNonce'),
    killedBy: ['I16'],
    changes: { operator: true },
  },
  {
    id: 'X24',
    what: 'bringing back does not ask whether the task is still as it was seen',
    edits: disarmed(OPERATOR, 'reviveTask.guard', '#state = :observedState', '#nonce = :observedNonce'),
    killedBy: ['I16', 'I0'],
    profile: 'network',
    changes: { operator: true },
  },
  {
    id: 'X70',
    what: "workers ignore how many shards the queue's row names",
    edits: [
      {
        file: 'shared/tasks/picker/partitions.ts',
        in: 'Partitions.update',
        at: statement('#addShards', 'shards'),
        change: 'drop',
      },
    ],
    killedBy: ['L3'],
    changes: { strayShards: 1 },
  },
  {
    id: 'X71',
    what: 'ticks do not look at the shard beyond those that are known',
    edits: [
      {
        file: 'shared/tasks/dispatch/measure.ts',
        in: 'shardsBeyond',
        at: [argument('Set', 0), element(0)],
        change: 'drop',
      },
    ],
    killedBy: ['L3'],
    changes: { strayShards: 1 },
  },
];
