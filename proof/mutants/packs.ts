import type { Mutant } from './mutation.ts';

const PACK = 'shared/tasks/rows/task/pack-statements.ts';
const changes = { items: 30, lockShare: 0, coordinationShare: 0 } as const;

/** Small tasks that share rows. */
export const PACK_MUTANTS: readonly Mutant[] = [
  {
    id: 'X26',
    what: 'what a pack records has no order: a late request overwrites its successor',
    file: PACK,
    from: '#sequence = :previousSequence',
    to: '(#sequence = :previousSequence OR #sequence <> :previousSequence)',
    killedBy: ['PACK'],
    profile: 'network',
    changes: { ...changes, late: 0.15, latestMs: 2_000, duplicate: 0.2 },
  },
];
