import type { Edit } from './change.ts';
import { becomes, disarmed } from './change.ts';
import type { Mutant } from './mutation.ts';
import { argument, branch, clause, condition, entry, operation, statement } from './place.ts';

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

/** The transaction takes the task out of `running`, and forgets the slot of its key. */
const slotKept = (file: string, within: string, atEntry: string): Edit => ({
  file,
  in: within,
  at: entry(atEntry),
  change: ({ text }) => `${text}, from: 'ready'`,
});

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
    id: 'X119',
    what: 'a commit does not ask whether it is barred',
    edits: disarmed('shared/tasks/rows/task/commit-statements.ts', 'commitTask.guard', '#sequence < :sequence'),
    killedBy: ['I0'],
    ...COPIES_OF_COMMITS,
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
    id: 'X121',
    what: 'a task that waits for its children keeps the slot of its key',
    edits: [slotKept(TASK_STORE, 'createTaskStore.waitForChildren', 'batch')],
    killedBy: ['KEY'],
  },
  {
    id: 'X122',
    what: 'a task whose worker died, and that is cancelled, keeps the slot of its key',
    edits: [slotKept('shared/tasks/rows/task/cancelling.ts', 'cancelTask', 'promote')],
    killedBy: ['KEY'],
    changes: { operator: true },
  },
  {
    id: 'X123',
    what: 'a task that is handed back keeps the slot of its key',
    edits: [slotKept(TASK_STORE, 'createTaskStore.release', 'promote')],
    killedBy: ['KEY'],
  },
  {
    id: 'X124',
    what: 'a task that dies with its worker keeps the slot of its key',
    edits: [slotKept(TASK_STORE, 'createTaskStore.bury', 'promote')],
    killedBy: ['KEY'],
    changes: { operator: true },
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
    id: 'X111',
    what: "a late dispatcher's step is not refused",
    edits: disarmed('shared/tasks/rows/schedule-statements.ts', 'IS_AS_OBSERVED', '#nonce = :observedNonce'),
    killedBy: ['SLOT'],
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
];
