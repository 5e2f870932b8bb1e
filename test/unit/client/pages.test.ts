/** The service may end any page early, at 1 MB or for other reasons, so every reader of pages continues. */
import { describe, expect, test } from 'vitest';
import type { Session } from '../../../shared/client/session.ts';
import type { DynamoDriver } from '../../../shared/dynamo/engine/driver.ts';
import { defineTask, registerTasks } from '../../../shared/tasks/task/definition.ts';
import { runWorker } from '../../../shared/tasks/worker/run-worker.ts';
import type { Process } from '../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';
import { silent } from '../../../shared/testing/silent-log.ts';

const SETTINGS = {
  queue: 'default',
  shards: 8,
  homeShards: [0, 1, 2, 3, 4, 5, 6, 7],
  concurrency: 4,
  pollMs: 1_000,
  graceMs: 1_000,
  deadlineMonotonicMs: Infinity,
};
const NAMES = ['a', 'b', 'c', 'd', 'e'];

/** Each query answers with one row at most. */
function cutPages<Driver extends DynamoDriver>(driver: Driver): Driver {
  const attempt = driver.attempt.bind(driver);
  driver.attempt = (kind, input, signal) => attempt(kind, kind === 'query' ? { ...input, Limit: 1 } : input, signal);
  return driver;
}

interface Listing {
  readonly write: (name: string, process: Process, session: Session) => Promise<unknown>;
  readonly list: (process: Process) => AsyncIterable<unknown>;
}

const LISTINGS: Readonly<Record<string, Listing>> = {
  sessions: {
    write: (name, { leasehold }) => leasehold.session({ name: `of ${name}`, ttl: '10m' }),
    list: ({ leasehold }) => leasehold.sessions.list('of'),
  },
  locks: { write: (name, _process, session) => session.lock(name), list: ({ leasehold }) => leasehold.locks.list() },
  'locks of one folder': {
    write: (name, _process, session) => session.lock(`folder/${name}`),
    list: ({ leasehold }) => leasehold.locks.list('folder/'),
  },
  semaphores: {
    write: (name, _process, session) => session.permit(name, { limit: 1 }),
    list: ({ leasehold }) => leasehold.semaphores.list(),
  },
  'members of a group': {
    write: async (name, { leasehold }) => (await leasehold.waitGroup('g')).add([name]),
    async *list({ leasehold }) {
      yield* (await leasehold.waitGroup('g')).members();
    },
  },
};

describe('pages of one row', () => {
  test.each(Object.entries(LISTINGS))('list all %s', async (_what, { write, list }) => {
    const process = simulatedWorld().start();
    const session = await process.leasehold.session({ name: 'writer', ttl: '10m' });
    for (const name of NAMES) await write(name, process, session);
    cutPages(process.driver);

    expect(await Array.fromAsync(list(process))).toHaveLength(NAMES.length);
  });

  test('let a group that waits see each of its members', async () => {
    const process = simulatedWorld().start();
    const group = await process.leasehold.waitGroup('g');
    await group.add(NAMES, { seal: true });
    cutPages(process.driver);

    expect(await group.wait({ wait: 0 })).toMatchObject({ kind: 'pending' });
    for (const name of NAMES) await group.done(name);
    expect(await group.wait({ wait: 0 })).toEqual({ kind: 'complete', members: NAMES.length, lost: 0 });
  });

  test('let a worker run each task, and an operator retry each dead one', async () => {
    const world = simulatedWorld();
    const { leasehold, ports, driver } = world.start();
    cutPages(driver);
    const { holder } = await leasehold.session({ ttl: '10m' });
    let isBroken = true;
    const run = (): Promise<void> => (isBroken ? Promise.reject(new Error('broken')) : Promise.resolve());
    const work = defineTask({ name: 'work', retry: { maxAttempts: 1 }, run });
    const options = [{}, { tenant: 'a' }, { tenant: 'b' }, { key: 'k', limit: 1 }];
    for (const [n, one] of options.entries())
      for (const half of ['x', 'y']) await leasehold.tasks.enqueue(work, null, { id: `${half}${n}`, ...one });
    const drain = () =>
      passTime(
        world,
        runWorker(
          registerTasks({ work }),
          { ...ports, session: holder, log: silent },
          SETTINGS,
          new AbortController().signal,
        ),
      );

    expect(await drain()).toMatchObject({ settled: { dead: 8 } });
    isBroken = false;
    expect(await leasehold.operator.retryAll()).toBe(8);
    expect(await drain()).toMatchObject({ settled: { done: 8 } });
  });
});
