import type { Mutant } from './mutation.ts';

const CANCEL_ITEM = 'shared/tasks/queue/cancel-item.ts';
const PACK = 'shared/tasks/rows/task/pack-statements.ts';
const changes = { items: 30, lockShare: 0, coordinationShare: 0 } as const;

/** Small tasks that share rows. */
export const PACK_MUTANTS: readonly Mutant[] = [
  {
    id: 'X26',
    what: 'what a pack records has no order: a late request overwrites its successor',
    swaps: [
      {
        file: PACK,
        from: '#sequence = :previousSequence',
        to: '(#sequence = :previousSequence OR #sequence <> :previousSequence)',
      },
    ],
    killedBy: ['PACK'],
    profile: 'network',
    changes: { ...changes, late: 0.15, latestMs: 2_000, duplicate: 0.2 },
  },
  {
    id: 'X62',
    what: 'a pack’s write rests on an earlier one, whatever came between (found by the simulation)',
    swaps: [
      {
        file: PACK,
        from: '#sequence = :previousSequence',
        to: '(#sequence = :previousSequence OR #sequence < :sequence)',
      },
    ],
    killedBy: ['PACK'],
    profile: 'network',
    changes: { ...changes, replyLost: 0.35, outageEveryMs: 5_000 },
  },
  {
    id: 'X27',
    what: 'an item is cancelled although it has ended',
    swaps: [
      { file: PACK, from: 'NOT contains(#done, :item)', to: '(NOT contains(#done, :item) OR contains(#done, :item))' },
      {
        file: PACK,
        from: 'NOT contains(#moved, :item)',
        to: '(NOT contains(#moved, :item) OR contains(#moved, :item))',
      },
      { file: CANCEL_ITEM, from: "if (pack.bulk.done.has(index)) return { kind: 'ended', state: 'done' };", to: ';' },
      { file: CANCEL_ITEM, from: "if (!isOpen(pack.bulk, index)) return { kind: 'missing' };", to: ';' },
    ],
    killedBy: ['PACK'],
    changes: { ...changes, operator: true },
  },
  {
    id: 'X53',
    what: 'an item that kills its workers is tried once more than its task may be',
    swaps: [
      { file: 'shared/tasks/bulk/suspect.ts', from: 'attempts >= maxAttempts', to: '(attempts >= maxAttempts + 1)' },
      {
        file: 'shared/tasks/bulk/suspect.ts',
        from: 'deaths.length >= maxDeaths',
        to: '(deaths.length >= maxDeaths + 1)',
      },
    ],
    killedBy: ['I18'],
    changes,
  },
];
