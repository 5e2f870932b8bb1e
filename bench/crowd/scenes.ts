/** Verbs that many callers send to one row at once. */
import { schedulesOf } from '../../shared/client/schedules-of.ts';
import type { Session } from '../../shared/client/session.ts';
import type { Leasehold } from '../../shared/client/leasehold.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import { spawn } from '../../shared/tasks/task/task-request.ts';

export interface Caller {
  readonly leasehold: Leasehold;
  /** From 0. */
  readonly number: number;
  readonly clock: Clock;
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
  /** Whether its callers wait for each other. Then their requests follow time, and have no such bound. */
  readonly isWaiting?: true;
}

/** A caller's retries are logarithmic, and few. */
export const EACH = 2.5;
const CRON = { cron: '0 3 * * *' };
const WORK = 'work';

const HELD_MS = 20;

const verb = (name: string, call: (caller: Caller) => Promise<unknown>, more: Partial<Scene> = {}): Scene => ({
  name,
  ready: (caller) => Promise.resolve(() => call(caller)),
  ...more,
});

const defined = (overlap: 'allow' | 'queue') => ({
  before: (leasehold: Leasehold) => schedulesOf(leasehold).define('s', WORK, {}, { ...CRON, overlap }),
});
const waiting = { before: ({ tasks }: Leasehold) => tasks.enqueue(WORK, {}, { id: 'hot', delay: '10s' }) };
const IN_LINE = { key: 'k', ordered: true };

export const SCENES: readonly Scene[] = [
  verb('enqueue', ({ leasehold, number }) => leasehold.tasks.enqueue(WORK, { number })),
  verb('enqueue, one id', ({ leasehold }) => leasehold.tasks.enqueue(WORK, {}, { id: 'one' })),
  verb('enqueue, ordered', ({ leasehold, number }) => leasehold.tasks.enqueue(WORK, { number }, IN_LINE)),
  verb('enqueueAll, ten of one line', ({ leasehold, number }) =>
    leasehold.tasks.enqueueAll(Array.from({ length: 10 }, (_, nth) => spawn(WORK, { number, nth }, IN_LINE))),
  ),
  ...(['debounce', 'replace'] as const).map((onDuplicate) =>
    verb(
      onDuplicate,
      ({ leasehold, number }) => leasehold.tasks.enqueue(WORK, { number }, { id: 'hot', delay: '10s', onDuplicate }),
      waiting,
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
    defined('allow'),
  ),
  ...(['allow', 'queue'] as const).map((overlap) =>
    verb(`schedules.run, ${overlap}`, ({ leasehold }) => schedulesOf(leasehold).run('s'), defined(overlap)),
  ),
  verb('operator.reschedule', ({ leasehold }) => leasehold.operator.reschedule('hot', { delay: '1h' }), waiting),
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
  {
    name: 'permit, limit 10, fair, for 20 ms',
    isWaiting: true,
    ready: async (caller) => {
      const mine = await caller.session();
      return async () => {
        const permit = await mine.permit('s', { limit: 10, fair: true, wait: '5m' });
        await caller.clock.sleep(HELD_MS);
        await permit.release();
      };
    },
  },
];
