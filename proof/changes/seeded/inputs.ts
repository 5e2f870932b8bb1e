import type { Mutant } from '../change.ts';

const GROUP_WALK = 'shared/tasks/task/group-walk.ts';
const OPERATOR = 'shared/tasks/rows/task/operator-statements.ts';

/** Large inputs, tenants, waiters, and ids that are asked for again. */
export const INPUT_MUTANTS: readonly Mutant[] = [
  {
    id: 'X38',
    what: 'a request that gives other input to an existing task removes that input',
    file: 'shared/tasks/queue/task-adder.ts',
    from: '!enqueued.created && !enqueued.replaced',
    to: '!enqueued.created',
    killedBy: ['PAYLOAD'],
    profile: 'network',
    changes: { payloadShare: 0.9, dedupShare: 1, late: 0.15, latestMs: 10_000, lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X41',
    what: 'a worker that has come to the last tenant does not go round',
    file: GROUP_WALK,
    from: '!isLast',
    to: 'true',
    killedBy: ['L10', 'L3'],
    changes: { tenants: true },
  },
  {
    id: 'X251',
    what: 'a tenant gets forty times its share of a visit',
    file: GROUP_WALK,
    from: 'shareOf(tenantEnd) >= quantum;',
    to: 'shareOf(tenantEnd) >= 40 * quantum;',
    killedBy: ['TENANT'],
    changes: { tenants: true, hogTasks: 80 },
  },
  {
    id: 'M39',
    what: 'a contender that waits for a key asks again at once, without back-off or jitter',
    file: 'shared/core/wait/wait.ts',
    from: 'fullJitterMs(random, this.#backoff, polls)',
    to: '0',
    killedBy: ['LOAD'],
    changes: { lockShare: 0.8, coordinationShare: 0 },
  },
  {
    id: 'X48',
    what: 'a task that stands in a line may be claimed before its turn',
    file: 'shared/tasks/picker/lines.ts',
    from: 'place.ticket <= (this.#lines.get(place.key)?.turn ?? 0)',
    to: 'place.ticket > 0',
    killedBy: ['ORDER'],
    changes: { lockShare: 0, coordinationShare: 0 },
  },
  {
    id: 'X43',
    what: 'other work under an id finds what the work before it has left (found by the simulation)',
    file: OPERATOR,
    from: ', #progress, #children, #deaths, #failingSince, #handBacks',
    to: '',
    killedBy: ['I19'],
    changes: { dedupShare: 1 },
  },
];
