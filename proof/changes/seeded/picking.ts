/** Seeded bugs of the choice of the next task: each task still runs once, but too late, or at too high a price. */
import type { Mutant } from '../change.ts';

const PICKER = 'shared/tasks/picker/task-picker.ts';
const PARTITION = 'shared/tasks/picker/partition.ts';
const PLAN = 'shared/tasks/dispatch/plan.ts';

/** A feed, and many sources to poll. */
const FED = { users: 0, concurrency: 8, settleMs: 5_000 } as const;
const BACKLOG = { floodOf: 'nothing', faultyMs: 40_000, settleMs: 10_000, ttlMs: 3_000 } as const;

export const PICKING_MUTANTS: readonly Mutant[] = [
  {
    id: 'K1',
    what: 'each end of a task makes every own source worth a poll',
    file: PICKER,
    from: 'if (isMissed && place !== undefined) place.isHot = true',
    to: 'if (isOver) this.#partitions.expect()',
    killedBy: ['CREEP'],
    profile: 'row',
    changes: { ...FED, stays: true, environments: 2, shards: 16, feedEveryMs: 200, latencyMs: 3, faultyMs: 12_000 },
  },
  {
    id: 'K2',
    what: 'workers that share a shard have no slices of it, and choose no part of it when they lose claims',
    file: PLAN,
    from: 'sharing.length > 1 ? { nth: sharing.indexOf(worker), of: sharing.length } : undefined',
    to: 'undefined',
    also: [
      { file: 'shared/tasks/picker/share.ts', from: 'if (!isWon && isTooMany)', to: 'if (isTooMany && all === 0)' },
    ],
    killedBy: ['CROWD'],
    profile: 'backlog',
    changes: { ...BACKLOG, environments: 12, concurrency: 4, floodTasks: 1_600 },
  },
  {
    id: 'K3',
    what: 'the oldest entries are not read again while there are others',
    file: PARTITION,
    from: 'this.isOwn && !this.lane.isOfGroups && this.#oldestReadAt + this.#options.heartbeatMs <= now',
    to: 'false',
    killedBy: ['LATE'],
    profile: 'backlog',
    changes: { ...BACKLOG, environments: 3, concurrency: 2, floodTasks: 4_000, crashEveryMs: 6_000, latencyMs: 30 },
  },
  {
    id: 'K6',
    what: 'workers do not look which tenants are paused',
    file: 'shared/tasks/worker/queue-state.ts',
    from: 'return isPausedTenant(this.#record, tenant);',
    to: 'return false;',
    killedBy: ['PAUSE'],
    changes: { tenants: true },
  },
  {
    id: 'K7',
    what: 'where no tick looks for it, the first task of a tenant or a line is polled for every 30 s',
    file: 'shared/tasks/picker/partitions.ts',
    from: 'PLAIN_PER_GROUP * beside * this.#mostMs',
    to: '30_000',
    killedBy: ['L10'],
    profile: 'polled',
  },
  {
    id: 'K5',
    what: 'a key whose latest start is in the future has not stood still before then',
    file: 'shared/tasks/picker/waits.ts',
    from: 'known.changedAt = Math.min(enteredAt, this.#now)',
    to: 'known.changedAt = enteredAt',
    killedBy: ['L10'],
    profile: 'keys',
  },
];
