/** Verbs that many callers send to one row at once. */
import { schedulesOf } from '../../shared/client/schedules-of.ts';
import type { Session } from '../../shared/client/session.ts';
import type { Leasehold } from '../../shared/client/leasehold.ts';

export interface Caller {
  readonly leasehold: Leasehold;
  /** From 0. */
  readonly number: number;
  session(): Promise<Session>;
}

export interface Scene {
  readonly name: string;
  /** Uncounted, by the first process. */
  readonly before?: (leasehold: Leasehold) => Promise<unknown>;
  /** Uncounted, by each caller; returns the call that all begin at one moment. */
  readonly ready: (caller: Caller) => Promise<() => Promise<unknown>>;
  /** Requests for each doubling of the callers. Default: `EACH`. */
  readonly each?: number;
}

/** A caller's retries are logarithmic, and few. */
export const EACH = 2.5;
const CRON = { cron: '0 3 * * *' };
const WORK = 'work';

const verb = (name: string, call: (caller: Caller) => Promise<unknown>, more: Partial<Scene> = {}): Scene => ({
  name,
  ready: (caller) => Promise.resolve(() => call(caller)),
  ...more,
});

const defined = {
  before: (leasehold: Leasehold) => schedulesOf(leasehold).define('s', WORK, {}, { ...CRON, overlap: 'allow' }),
};

export const SCENES: readonly Scene[] = [
  verb('enqueue', ({ leasehold, number }) => leasehold.tasks.enqueue(WORK, { number })),
  verb('enqueue, one id', ({ leasehold }) => leasehold.tasks.enqueue(WORK, {}, { id: 'one' })),
  verb('enqueue, ordered', ({ leasehold, number }) =>
    leasehold.tasks.enqueue(WORK, { number }, { key: 'k', ordered: true }),
  ),
  ...(['debounce', 'replace'] as const).map((onDuplicate) =>
    verb(
      onDuplicate,
      ({ leasehold, number }) => leasehold.tasks.enqueue(WORK, { number }, { id: 'hot', delay: '10s', onDuplicate }),
      { before: ({ tasks }) => tasks.enqueue(WORK, {}, { id: 'hot', delay: '10s' }) },
    ),
  ),
  verb(
    'replace, ended',
    ({ leasehold, number }) => leasehold.tasks.enqueue(WORK, { number }, { id: 'hot', onDuplicate: 'replace' }),
    {
      before: async ({ tasks, operator }) => {
        await tasks.enqueue(WORK, {}, { id: 'hot' });
        await operator.cancel('hot');
      },
    },
  ),
  verb('operator.pause', ({ leasehold }) => leasehold.operator.pause({ reason: 'test' })),
  verb(
    'schedules.define',
    ({ leasehold, number }) => schedulesOf(leasehold).define('s', WORK, { number }, CRON),
    defined,
  ),
  verb('locks.put', ({ leasehold, number }) => leasehold.locks.put('value', `v${number}`)),
  verb('semaphores.setLimit', ({ leasehold, number }) => leasehold.semaphores.setLimit('s', 5 + number), {
    before: ({ semaphores }) => semaphores.declareLimit('s', 3),
    each: 4,
  }),
  {
    name: 'waitGroup.add',
    ready: async ({ leasehold, number }) => {
      const group = await leasehold.waitGroup('g');
      return () => group.add([`m${number}`]);
    },
  },
  verb('take', ({ leasehold }) => leasehold.rateLimiter('r', { rate: 100, per: '1s', burst: 10 }).take('k')),
  ...[1, 10, 100].map((limit): Scene => ({
    name: `tryPermit, limit ${limit}`,
    ready: async (caller) => {
      const mine = await caller.session();
      return () => mine.tryPermit('s', { limit });
    },
  })),
];
