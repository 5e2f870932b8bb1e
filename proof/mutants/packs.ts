import { ANYBODYS, becomes, disarmed } from './change.ts';
import type { Mutant } from './mutation.ts';
import { argument, branch, call, clause, condition, operation, returned, use } from './place.ts';

const STATEMENTS = 'shared/tasks/rows/task/task-statements.ts';
const RUN_PACK = 'shared/tasks/bulk/run-pack.ts';
const CANCEL_ITEM = 'shared/tasks/queue/cancel-item.ts';
const PACK = 'shared/tasks/rows/task/pack-statements.ts';
const changes = { items: 30, lockShare: 0, coordinationShare: 0 } as const;

/** Small tasks that share rows. */
export const PACK_MUTANTS: readonly Mutant[] = [
  {
    id: 'X46',
    what: 'a pack’s writes compare neither session nor counter',
    edits: [{ file: PACK, in: 'IS_MY_NEXT', at: use('IS_MINE'), change: becomes(ANYBODYS) }],
    killedBy: ['I9'],
    profile: 'network',
    changes: { ...changes, tasks: 4, late: 0.3, latestMs: 20_000, crashEveryMs: 3_000, freezeEveryMs: 3_000 },
  },
  {
    id: 'X26',
    what: 'what a pack records has no order: a late request overwrites its successor',
    edits: disarmed(PACK, 'IS_MY_NEXT', '#sequence = :previousSequence'),
    killedBy: ['PACK'],
    profile: 'network',
    changes: { ...changes, late: 0.15, latestMs: 2_000, duplicate: 0.2 },
  },
  {
    id: 'X120',
    what: 'no record bars an item’s refused commit: its copy applies later',
    edits: [
      {
        file: 'shared/tasks/bulk/recorder.ts',
        in: 'PackRecorder.commit',
        at: condition('canceled'),
        change: becomes('true'),
      },
    ],
    killedBy: ['I0'],
    profile: 'network',
    changes: { ...changes, duplicate: 0.3, latestMs: 20_000, stock: 0 },
  },
  {
    id: 'X62',
    what: 'a pack’s write rests on an earlier one, whatever came between (found by the simulation)',
    edits: [
      {
        file: PACK,
        in: 'IS_MY_NEXT',
        at: clause('#sequence = :previousSequence'),
        change: ({ text }) => `(${text} OR #sequence < :sequence)`,
      },
    ],
    killedBy: ['PACK'],
    profile: 'network',
    changes: { ...changes, replyLost: 0.35, outageEveryMs: 5_000 },
  },
  {
    id: 'X64',
    what: 'the claim of a pack does not look at what was cancelled just before it (found by the simulation)',
    edits: [{ file: STATEMENTS, in: 'claimTask.omitsNewRow', change: becomes('true') }],
    killedBy: ['PACK'],
    profile: 'network',
    // Half of the cancellations hit items, and the claim of a pack is long in flight.
    changes: { ...changes, operator: true, tasks: 4, hogTasks: 0, latencyMs: 150 },
  },
  {
    id: 'X27',
    what: 'an item is cancelled although it has ended',
    edits: [
      ...disarmed(PACK, 'IS_UNDECIDED', 'NOT contains(#done, :item)', 'NOT contains(#moved, :item)'),
      { file: CANCEL_ITEM, in: 'cancelItem', at: branch('done', 'has'), change: 'drop' },
      { file: CANCEL_ITEM, in: 'cancelItem', at: branch('isOpen'), change: 'drop' },
    ],
    killedBy: ['PACK'],
    changes: { ...changes, operator: true },
  },
  {
    id: 'X28',
    what: 'items that are recorded as done run again',
    edits: [
      {
        file: 'shared/tasks/task/pack.ts',
        in: 'isOpen',
        at: call('has', 'done'),
        change: ({ text, args }) => `${args.join()} % 2 !== 0 && ${text}`,
      },
    ],
    killedBy: ['PACK'],
    changes,
  },
  {
    id: 'X29',
    what: 'a pack that is told to stop ends as done, with items that have not begun',
    edits: [{ file: RUN_PACK, in: 'PackRun.#runItems', at: branch('#openItems'), change: 'drop' }],
    killedBy: ['PACK'],
    changes,
  },
  {
    id: 'X30',
    what: 'a take-over starts its pack over',
    edits: [
      {
        file: STATEMENTS,
        in: 'takeOverTask.effect',
        change: ({ text }) => `${text} + ' REMOVE #done'`,
      },
    ],
    killedBy: ['PACK'],
    changes: { ...changes, crashEveryMs: 4_000 },
  },
  {
    id: 'X31',
    what: 'an item that leaves its pack gets no row',
    edits: [
      {
        file: 'shared/tasks/rows/task/dynamo-pack-store.ts',
        in: 'createPackStore.move',
        at: argument('together', 1),
        change: becomes('[]'),
      },
    ],
    killedBy: ['PACK'],
    changes,
  },
  {
    id: 'X32',
    what: 'an item that leaves its pack forgets the attempts that it has had',
    edits: [{ file: PACK, in: 'createMovedItem.attempts', change: becomes('0') }],
    killedBy: ['PACK'],
    changes,
  },
  {
    id: 'X33',
    what: 'an item that leaves its pack starts its counter over',
    edits: [{ file: PACK, in: 'createMovedItem.leaseCounter', change: becomes('0') }],
    killedBy: ['I3'],
    changes,
  },
  {
    id: 'X34',
    what: 'the item that kills its workers stays in its pack',
    edits: [{ file: RUN_PACK, in: 'PackRun.#partWithSuspect', at: condition('undefined'), change: becomes('true') }],
    killedBy: ['L3'],
    changes,
  },
  {
    id: 'X45',
    what: 'who leaves a pack right behind its suspect pays for the claim that the suspect ended (found by the simulation)',
    edits: [{ file: RUN_PACK, in: 'PackRun.#partWithSuspect', at: branch('applied'), change: 'drop' }],
    killedBy: ['PACK', 'I18'],
    changes: { ...changes, crashEveryMs: 3_000 },
  },
  {
    id: 'X53',
    what: 'an item that kills its workers is tried once more than its task may be',
    edits: [
      {
        file: 'shared/tasks/bulk/suspect.ts',
        in: 'suspectOf.isDead',
        at: operation('>=', 'maxAttempts'),
        change: ({ text }) => `${text} + 1`,
      },
      {
        file: 'shared/tasks/bulk/suspect.ts',
        in: 'suspectOf.isDead',
        at: operation('>=', 'maxDeaths'),
        change: ({ text }) => `${text} + 1`,
      },
    ],
    killedBy: ['I18'],
    changes,
  },
  {
    id: 'X54',
    what: 'an item that failed leaves its pack as if it had not been attempted',
    edits: [{ file: 'shared/tasks/bulk/departure.ts', in: 'failedItem.attempts', change: ({ text }) => `${text} - 1` }],
    killedBy: ['PACK'],
    changes,
  },
  {
    id: 'X55',
    what: 'the items behind a suspect that cannot leave their pack run all the same (found by the simulation)',
    edits: [{ file: RUN_PACK, in: 'PackRun.#partWithSuspect', at: returned('canceled'), change: becomes('true') }],
    killedBy: ['L3'],
    changes: { ...changes, tasks: 2, crashEveryMs: 2_500 },
  },
  {
    id: 'X35',
    what: 'the end of an item is recorded when it begins',
    edits: [
      {
        file: RUN_PACK,
        in: 'PackRun.#runItems',
        at: call('#runItem'),
        change: ({ text, args: [index = ''] }) =>
          `this.#recorder.complete(${index}, undefined, undefined).then(() => ${text})`,
      },
    ],
    killedBy: ['PACK'],
    changes: { ...changes, crashEveryMs: 4_000 },
  },
];
