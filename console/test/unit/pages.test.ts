/**
 * All that the console's server answers about rows of every kind, and what it makes of each act: figures, bounds, words and status codes.
 *
 * After an intended change: `npx vitest run console/test/unit/pages.test.ts -u`, and read the difference.
 */
import { inspect } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, test } from 'vitest';
import { ENDED, NOW, QUEUE_RECORD, STARTED, ago, schedule } from '../../../test/support/made-rows.ts';
import {
  each,
  leaseholdOf,
  operationsOf,
  semaphoreClient,
  sessionStore,
  storeOf,
} from '../../../test/support/made-stores.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ConsoleConnection } from '../../server/connection.ts';
import type { Feed } from '../../server/feed.ts';
import { createRoutes } from '../../server/routes.ts';
import { SharedReads } from '../../server/shared-reads.ts';
import { OverviewReader } from '../../server/views/overview.ts';
import { SessionBook } from '../../server/views/session-book.ts';

/** One poll after the other, of a console that was opened a minute before. */
const SOME_TIME_MS = 60_000;

interface Settings {
  readonly isLocal?: boolean;
  readonly isReadOnly?: boolean;
}

function consoleOver(report: unknown, { isLocal = true, isReadOnly = false }: Settings = {}) {
  const clock = new ManualClock(STARTED);
  clock.step(-SOME_TIME_MS);
  const asked: string[] = [];
  let units = 0;
  const leasehold = {
    ...leaseholdOf(report),
    semaphores: semaphoreClient,
  };
  const schedules = {
    list: ({ queue }: { readonly queue: string }) =>
      each(
        queue === 'default'
          ? [
              schedule('hourly', {
                cron: '0 * * * *',
                definedAt: ago(4.5 * 3_600_000),
                nextAt: ago(3_600_000),
                leftOut: [{ at: ago(7_200_000), why: 'overlap' }],
              }),
              schedule('paused', { nextAt: Infinity, pausedAt: ago(60_000), options: { priority: 'high' } }),
              schedule('damaged', { cron: 'x', nextAt: NOW }),
            ]
          : [],
      ),
  };
  const stores = () => {
    const before = units;
    const reading = <T>(answer: T): T => {
      units++;
      return answer;
    };
    const store = storeOf(report);
    return {
      leasehold,
      schedules,
      sessions: sessionStore,
      semaphores: semaphoreClient,
      operations: operationsOf(report, asked),
      audit: { list: () => each([{ at: NOW, verb: 'lock.release' }]) },
      queues: { get: () => Promise.resolve(QUEUE_RECORD), glance: () => Promise.resolve(QUEUE_RECORD) },
      tasks: {
        ...store,
        getMany: (keys: readonly { readonly id: string }[]) => reading(store.getMany(keys)),
        getBatch: ({ id }: { readonly id: string }) =>
          Promise.resolve({
            id,
            total: 3,
            pending: 1,
            waiter: { kind: 'task', task: { queue: 'default', id: 'plain' } },
          }),
      },
      operatorStore: {
        // In two pages.
        pageOfDead: (_queue: string, after?: number) => {
          const dead = ENDED.flatMap(({ state, queue, id }) =>
            state === 'dead' ? [{ queue, id, diedAt: ago(60_000) }] : [],
          );
          const page =
            after === undefined ? { keys: dead.slice(0, 1), next: 1 } : { keys: dead.slice(after), next: undefined };
          return reading(Promise.resolve(page));
        },
      },
      spent: () => units - before,
    };
  };
  const page = { Table: { TableSizeBytes: 8_193 }, Items: [], ConsumedCapacity: { CapacityUnits: 2.5 } };
  const options = { table: 'leasehold', shards: 4, maxClockSkewMs: 1_000, queues: ['default'], isReadOnly, by: 'ann' };
  const connection = {
    options,
    isLocal,
    info: { table: 'leasehold', isLocal, isReadOnly, by: 'ann' },
    runtime: { clock },
    now: () => clock.now(),
    readUnits: () => units,
    spend: (more: number) => void (units += more),
    openClient: () =>
      Promise.resolve(
        Object.assign(new DynamoDBClient({ region: 'eu-west-1' }), { send: () => Promise.resolve(page) }),
      ),
    open: stores,
  } as unknown as ConsoleConnection;
  const book = new SessionBook(connection);
  const overview = new OverviewReader(connection, book);
  const feed = { hurry: () => void asked.push('→ the next poll at once') } as unknown as Feed;
  const looks = new SharedReads(clock, { everyMs: 1_000, unitsPerSecond: 10 });
  clock.step(SOME_TIME_MS);
  return {
    routes: createRoutes({ connection, feed, overview, book, reads: looks }),
    overview,
    clock,
    asked,
    looks,
    units: () => units,
  };
}

function shown(what: string, ...parts: readonly unknown[]): string {
  const told = parts.map((part) =>
    typeof part === 'string'
      ? part
      : inspect(part, { depth: 8, compact: 20, breakLength: 240, maxStringLength: 300, maxArrayLength: 300 }),
  );
  return [`# ${what}`, ...told, ''].join('\n');
}

async function answered(response: Response | Promise<Response>): Promise<readonly unknown[]> {
  const answer = await response;
  const body: unknown = await answer.json();
  return [...(answer.status === 200 ? [] : [`status ${answer.status}`]), body];
}

const PAGES = [
  '/connection',
  ...['unfinished', 'ready', 'delayed', 'running'].map((state) => `/tasks?queue=default&state=${state}`),
  '/tasks?queue=default&name=fi',
  '/tasks?queue=default&id=la',
  '/tasks?queue=default&after=x',
  '/tasks?queue=default&state=dead',
  '/tasks',
  '/dead?queue=default',
  '/dead?queue=default&name=res&id=de&fault=other',
  '/finished?queue=default&units=10',
  '/finished?queue=default&units=0',
  '/finished?queue=default&units=1000001',
  '/finished?queue=default&units=1&outcome=lost',
  '/selected?queue=default',
  '/finished?queue=default',
  '/names?queue=default',
  ...['plain', 'later', 'parent', 'busy', 'orphan', 'done', 'dead'].map((id) => `/task?queue=default&id=${id}`),
  '/task?queue=default&id=nothing',
  '/sessions',
  '/locks?prefix=held',
  '/semaphores',
  '/schedules',
  '/audit',
];

test('the answers to the pages of the console', async () => {
  const { routes, overview, clock } = consoleOver({ isPaused: true });
  const parts: string[] = [];
  for (let round = 1; round <= 2; round++) {
    const units = await overview.read();
    parts.push(shown(`poll ${round}`, units, overview.overview()));
    clock.step(10_000);
  }
  parts.push(shown('a poll at the same moment', await overview.read()));
  await routes.request('/acts', {
    method: 'POST',
    body: JSON.stringify({ verb: 'queue.pause', queue: 'media', reason }),
  });
  parts.push(shown('a poll after an act on a queue, whose dead tasks it reads again', await overview.read()));
  clock.step(-30_000);
  for (const page of PAGES) parts.push(shown(`GET ${page}`, ...(await answered(routes.request(page)))));

  const remote = consoleOver(undefined, { isLocal: false });
  for (const page of ['/task?queue=default&id=parent', '/task?queue=default&id=parent&children', '/dead?queue=default'])
    parts.push(shown(`GET ${page}, of a table elsewhere`, ...(await answered(remote.routes.request(page)))));

  await expect(parts.join('\n')).toMatchFileSnapshot('./pages.txt');
});

const reason = 'a drill';

test('reads every page again after an act, unless the act was refused before it began', async () => {
  const { routes, looks } = consoleOver({ isPaused: true });
  let reads = 0;
  const read = () => looks.ask('a page', () => Promise.resolve({ value: ++reads, units: 0 }));
  const act = (changes: object) => {
    const body = JSON.stringify({ verb: 'queue.pause', queue: 'media', reason, ...changes });
    return routes.request('/acts', { method: 'POST', body });
  };

  expect([await read(), await read()]).toEqual([1, 1]);
  expect((await act({ reason: '' })).status).toBe(400);
  expect(await read()).toBe(1);
  expect((await act({})).status).toBe(200);
  expect(await read()).toBe(2);
});
