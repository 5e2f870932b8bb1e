/** Stores and clients that answer from made-up rows. */
import { StoreUnavailableError } from '../../shared/core/errors.ts';
import { workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import type { TaskRecord } from '../../shared/tasks/task/task.ts';
import { ENDED, LOCKS, NOW, SCHEDULES, SEMAPHORES, SESSIONS, UNFINISHED } from './made-rows.ts';

export const ALL = new Map([...UNFINISHED, ...ENDED].map((task) => [task.id, task]));

/** The tasks of each queue that has tasks or a row. Tasks of the second one do not run. */
export const WAITING: Readonly<Record<string, readonly TaskRecord[]>> = {
  default: UNFINISHED,
  resting: UNFINISHED.filter(({ state }) => state === 'ready'),
  due: UNFINISHED.filter(({ id }) => id === 'plain'),
  delayed: UNFINISHED.filter(({ id }) => id === 'later'),
};

interface Partition {
  readonly queue: string;
  readonly priority: string;
  readonly shard: number;
}

/** All of a queue's tasks are in its third shard. */
function waitingIn({ queue, priority, shard }: Partition): readonly TaskRecord[] {
  return shard === 2 ? (WAITING[queue] ?? []).filter((task) => task.priority === priority) : [];
}

function isInGroup(task: TaskRecord): boolean {
  return task.state === 'ready' && task.isInGroup;
}

const startsWith = (prefix: string) => (row: { readonly key?: string; readonly name?: string }) =>
  (row.key ?? row.name ?? '').startsWith(prefix);
const known = (ids: Iterable<string>) =>
  new Map(SESSIONS.filter(({ id }) => new Set(ids).has(id)).map((one) => [one.id, one]));

export const leaseholdOf = (report: unknown) => ({
  locks: {
    list: (prefix: string) => each(LOCKS.filter(startsWith(prefix))),
    get: (key: string) => Promise.resolve(LOCKS.find((lock) => lock.key === key)),
    read: (key: string) =>
      Promise.resolve({ info: LOCKS.find((lock) => lock.key === key), closedUntil: key === 'left' ? NOW + 1 : NOW }),
    watch: (_: string, { index }: { readonly index: number }) => {
      if (index >= 3) throw new StoreUnavailableError('DynamoDB is away', { applied: 'no' });
      return Promise.resolve({ index: index + 1, info: [LOCKS[0], LOCKS[2], undefined][index] });
    },
  },
  sessions: {
    list: (prefix: string) => each(SESSIONS.filter(startsWith(prefix))),
    get: (id: string) => Promise.resolve(known([id]).get(id)),
  },
  schedules: {
    list: ({ queue }: { readonly queue: string }) => each(SCHEDULES.filter((row) => row.queue === queue)),
    get: (name: string) => Promise.resolve(SCHEDULES.find((row) => row.name === name)),
    next: (row: { readonly nextAt: number }, count: number) =>
      Array.from({ length: row.nextAt === Infinity ? 0 : count }, (_, n) => row.nextAt + n * 86_400_000),
  },
  session: () => ({ id: 'here', holder: {}, report, [Symbol.asyncDispose]: () => Promise.resolve() }),
});

export const storeOf = (report: unknown) => ({
  get: ({ id }: { readonly id: string }) => Promise.resolve(ALL.get(id)),
  getFailure: ({ id }: { readonly id: string }) =>
    Promise.resolve(id === 'dead' ? { stack: 'TypeError: x\n  at \u001b[2J', leaseCounter: 5 } : undefined),
  getMany: (keys: readonly { readonly id: string }[]) => Promise.resolve(keys.flatMap(({ id }) => ALL.get(id) ?? [])),
  getKeys: () => Promise.resolve(new Map()),
  getTurns: () => Promise.resolve(new Map([['in-order', 3]])),
  claim: () => Promise.resolve(report),
  page: (partition: Partition) =>
    Promise.resolve({ hints: waitingIn(partition).filter((task) => !isInGroup(task)), next: undefined }),
  pageOfGroups: (partition: Partition) =>
    Promise.resolve({
      entries: waitingIn(partition)
        .filter(isInGroup)
        .map((hint) => ({ hint })),
      next: undefined,
    }),
});

/** Queues with permits for workers; only the first is listed. */
const DISPATCHED = new Set(['default', 'resting', 'dispatched'].map(workersSemaphore));

export const semaphoreClient = {
  list: (prefix: string) =>
    each(
      prefix === workersSemaphore('')
        ? [workersSemaphore('default')]
        : SEMAPHORES.map(({ name }) => name).filter((name) => name.startsWith(prefix)),
    ),
  get: (name: string) =>
    Promise.resolve(DISPATCHED.has(name) ? SEMAPHORES[0] : SEMAPHORES.find((one) => one.name === name)),
  parts: (queue: string) => Promise.resolve(SEMAPHORES.slice(0, Number(DISPATCHED.has(workersSemaphore(queue))))),
};

export const sessionStore = {
  get: (id: string) => Promise.resolve(known([id]).get(id)),
  getMany: (ids: readonly string[]) => Promise.resolve(known(ids)),
  page: (prefix: string) => {
    const listed = SESSIONS.filter(({ name }) => `${name}#`.startsWith(prefix));
    return Promise.resolve({ ids: listed.map(({ id }) => id), names: listed.map(({ name }) => name), next: undefined });
  },
};

/** Answers each operation with this report, and notes what was asked. */
export function operationsOf(report: unknown, asked: string[]) {
  return {
    execute: (verb: string, input: object, { by, reason }: { readonly by: string; readonly reason: string }) => {
      asked.push(`→ ${verb} ${JSON.stringify(input)} by ${by}: ${reason}`);
      return report instanceof Error ? Promise.reject(report) : Promise.resolve(report);
    },
  };
}

export async function* each<T>(rows: readonly T[]): AsyncGenerator<T> {
  for (const row of rows) yield await Promise.resolve(row);
}
