import { disarmed } from './change.ts';
import type { Mutant } from './mutation.ts';
import { branch, clause, operation } from './place.ts';

const CANCEL_ITEM = 'shared/tasks/queue/cancel-item.ts';
const PACK = 'shared/tasks/rows/task/pack-statements.ts';
const changes = { items: 30, lockShare: 0, coordinationShare: 0 } as const;

/** Small tasks that share rows. */
export const PACK_MUTANTS: readonly Mutant[] = [
  {
    id: 'X26',
    what: 'what a pack records has no order: a late request overwrites its successor',
    edits: disarmed(PACK, 'IS_MY_NEXT', '#sequence = :previousSequence'),
    killedBy: ['PACK'],
    profile: 'network',
    changes: { ...changes, late: 0.15, latestMs: 2_000, duplicate: 0.2 },
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
];
