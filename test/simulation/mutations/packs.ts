import type { Mutant } from './mutation.ts';

const PACK = 'shared/dynamo/task/pack-statements.ts';
const changes = { items: 30, lockShare: 0, coordinationShare: 0 } as const;

/** Small tasks that share rows. */
export const PACK_MUTANTS: readonly Mutant[] = [
  {
    id: 'X46',
    what: 'a pack’s writes compare neither session nor counter',
    edits: [
      {
        file: PACK,
        find: 'const IS_MY_NEXT = `${IS_MINE} AND #sequence = :previousSequence`;',
        replace:
          "const IS_MY_NEXT = '#state = :running AND (#leaseCounter <> :counter OR #leaseCounter = :counter) AND (#session <> :session OR #session = :session) AND #sequence = :previousSequence';",
      },
    ],
    killedBy: ['I9'],
    profile: 'network',
    changes: { ...changes, tasks: 4, late: 0.3, latestMs: 20_000, crashEveryMs: 3_000, freezeEveryMs: 3_000 },
  },
  {
    id: 'X26',
    what: 'what a pack records has no order: a late request overwrites its successor',
    edits: [
      {
        file: PACK,
        find: 'const IS_MY_NEXT = `${IS_MINE} AND #sequence = :previousSequence`;',
        replace:
          'const IS_MY_NEXT = `${IS_MINE} AND (#sequence = :previousSequence OR #sequence <> :previousSequence)`;',
      },
    ],
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
        find: 'const IS_MY_NEXT = `${IS_MINE} AND #sequence = :previousSequence`;',
        replace: 'const IS_MY_NEXT = `${IS_MINE} AND (#sequence = :previousSequence OR #sequence < :sequence)`;',
      },
    ],
    killedBy: ['PACK'],
    profile: 'network',
    changes: { ...changes, replyLost: 0.35, outageEveryMs: 5_000 },
  },
  {
    id: 'X64',
    what: 'the claim of a pack does not look at what was cancelled just before it (found by the simulation)',
    edits: [
      {
        file: 'shared/dynamo/task/statements.ts',
        find: 'isSilent: observed.bulk === undefined,',
        replace: 'isSilent: true,',
      },
    ],
    killedBy: ['PACK'],
    profile: 'network',
    // Half of what is cancelled are items, and the claim of a pack is long under way.
    changes: { ...changes, operator: true, tasks: 4, hogTasks: 0, latencyMs: 150 },
  },
  {
    id: 'X27',
    what: 'an item is cancelled although it has ended',
    edits: [
      {
        file: PACK,
        find: "const IS_UNDECIDED = 'NOT contains(#done, :item) AND NOT contains(#moved, :item)';",
        replace:
          "const IS_UNDECIDED = '(contains(#done, :item) OR NOT contains(#done, :item)) AND (contains(#moved, :item) OR NOT contains(#moved, :item))';",
      },
      {
        file: 'shared/queue/cancel-item.ts',
        find: "if (pack.bulk.done.has(index)) return { kind: 'ended', state: 'done' };",
        replace: '',
      },
      {
        file: 'shared/queue/cancel-item.ts',
        find: "if (!isOpen(pack.bulk, index)) return { kind: 'missing' };",
        replace: '',
      },
    ],
    killedBy: ['PACK'],
    changes: { ...changes, operator: true },
  },
  {
    id: 'X28',
    what: 'items that are recorded as done run again',
    edits: [
      {
        file: 'shared/task/pack.ts',
        find: 'return !done.has(index) && !moved.has(index) && !cancelled.has(index);',
        replace: 'return (index % 2 === 0 || !done.has(index)) && !moved.has(index) && !cancelled.has(index);',
      },
    ],
    killedBy: ['PACK'],
    changes,
  },
  {
    id: 'X29',
    what: 'a pack that is told to stop ends as done, with items that have not begun',
    edits: [
      {
        file: 'shared/bulk/run-pack.ts',
        find: 'if (this.#openItems().length > 0 && signal.aborted) throw signal.reason as Error;',
        replace: '',
      },
    ],
    killedBy: ['PACK'],
    changes,
  },
  {
    id: 'X30',
    what: 'a take-over starts its pack over',
    edits: [
      {
        file: 'shared/dynamo/task/statements.ts',
        find: 'effect: `${TAKE}, ${COUNT_DEATH}, ${remember(observed)}`,',
        replace:
          "effect: `${TAKE}, ${COUNT_DEATH}, ${remember(observed)}${observed.bulk === undefined ? '' : ' REMOVE #done'}`,",
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
        file: 'shared/dynamo/task/pack-store.ts',
        find: '[actionOf(created)]',
        replace: 'created === undefined ? [actionOf(created)] : []',
      },
    ],
    killedBy: ['PACK'],
    changes,
  },
  {
    id: 'X32',
    what: 'an item that leaves its pack forgets the attempts that it has had',
    edits: [{ file: PACK, find: '...item,\n    attempts,', replace: '...item,\n    attempts: attempts * 0,' }],
    killedBy: ['PACK'],
    changes,
  },
  {
    id: 'X33',
    what: 'an item that leaves its pack starts its counter over',
    edits: [{ file: PACK, find: 'leaseCounter: Math.max(stamp.now, pack.leaseCounter),', replace: 'leaseCounter: 0,' }],
    killedBy: ['I3'],
    changes,
  },
  {
    id: 'X34',
    what: 'the item that kills its workers stays in its pack',
    edits: [
      {
        file: 'shared/bulk/run-pack.ts',
        find: 'if (suspect === undefined) return true;',
        replace: 'if (suspect === undefined || suspect.index >= 0) return true;',
      },
    ],
    killedBy: ['L3'],
    changes,
  },
  {
    id: 'X45',
    what: 'who leaves a pack right behind its suspect pays for the claim that the suspect ended (found by the simulation)',
    edits: [
      {
        file: 'shared/bulk/run-pack.ts',
        find: "if (outcome.kind === 'applied') this.#pack = { ...this.#pack, attempts: this.#pack.attempts - 1 };",
        replace: '',
      },
    ],
    killedBy: ['PACK', 'I18'],
    changes: { ...changes, crashEveryMs: 3_000 },
  },
  {
    id: 'X53',
    what: 'an item that kills its workers is tried once more than its task may be',
    edits: [
      {
        file: 'shared/bulk/suspect.ts',
        find: 'isDead: attempts >= maxAttempts || known >= maxDeaths,',
        replace: 'isDead: attempts >= maxAttempts + 1 || known >= maxDeaths + 1,',
      },
    ],
    killedBy: ['I18'],
    changes,
  },
  {
    id: 'X54',
    what: 'an item that failed leaves its pack as if it had not been attempted',
    edits: [
      {
        file: 'shared/bulk/departure.ts',
        find: "settlement: 'dead', readyAt: now, attempts, deaths: 0",
        replace: "settlement: 'dead', readyAt: now, attempts: attempts - 1, deaths: 0",
      },
    ],
    killedBy: ['PACK'],
    changes,
  },
  {
    id: 'X55',
    what: 'the items behind a suspect that cannot leave their pack run all the same (found by the simulation)',
    edits: [
      {
        file: 'shared/bulk/run-pack.ts',
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
        file: 'shared/bulk/run-pack.ts',
        find: "if ((await this.#runItem(index, signal)) === 'unsettled')",
        replace:
          "await this.#recorder.complete(index, undefined, undefined); if ((await this.#runItem(index, signal)) === 'unsettled')",
      },
    ],
    killedBy: ['PACK'],
    changes: { ...changes, crashEveryMs: 4_000 },
  },
];
