import { beforeEach, describe, expect, test } from 'vitest';
import { announcingIn, enqueuedIn } from '../../../../shared/client/process-enqueues.ts';
import { EnqueueBus } from '../../../../shared/tasks/queue/enqueue-bus.ts';
import type { TaskClient } from '../../../../shared/tasks/queue/task-client.ts';
import type { NewTask } from '../../../../shared/tasks/task/task-store.ts';
import { grown, ledgerOf } from '../../../support/ledger.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { QUEUE, openMemoryQueue } from '../../../support/memory-queue.ts';

let q: MemoryQueue;
let bus: EnqueueBus;
let client: TaskClient;
let heard: string[];

beforeEach(() => {
  bus = new EnqueueBus();
  q = openMemoryQueue(undefined, (...created) => bus.announce('table', ...created));
  ({ client } = q);
  heard = [];
});

const listen = (place = 'table', queue = QUEUE) => bus.listen(place, queue, (ids) => void heard.push(...ids));

describe('an enqueue bus', () => {
  test('keeps tables and queues apart', async () => {
    listen('another table');
    listen('table', 'another queue');

    await client.enqueue('t', {}, { id: 'a' });

    expect(heard).toEqual([]);
  });

  test('does not call a listener that has unsubscribed', async () => {
    const stop = listen();
    stop();

    await client.enqueue('t', {}, { id: 'a' });

    expect(heard).toEqual([]);
  });

  test('announces a task that is due just now, to the listeners of its queue, in one call for all', () => {
    const calls: string[] = [];
    bus.listen('table', 'one', (ids) => void calls.push(`one ${ids.join(' ')}`));
    bus.listen('table', 'two', (ids) => void calls.push(`two ${ids.join(' ')}`));
    const created = ['a', 'b', 'c', 'd'].map(
      (id, n) => ({ id, queue: n < 3 ? 'one' : 'two', runAt: 4 + n }) as NewTask,
    );

    bus.announce('table', created, 5);
    bus.announce('table', created, 7);

    expect(calls).toEqual(['one a b', 'one a b c', 'two d']);
  });

  test('keeps nothing of listeners that have unsubscribed, in any order', () => {
    const before = ledgerOf(bus);
    const stops = [listen(), listen(), listen('table', 'another queue')];
    expect(grown(before, ledgerOf(bus))).not.toEqual({});

    for (const stop of stops.reverse()) stop();

    expect(grown(before, ledgerOf(bus))).toEqual({});
  });
});

test.each([
  ['endpoint', { endpoint: 'http://127.0.0.1:2' }],
  ['region', { endpoint: undefined, region: 'eu-west-1' }],
  ['table', { table: 'another' }],
])('enqueues of one process wake no worker of another %s', async (_what, there) => {
  const here = { endpoint: 'http://127.0.0.1:1', table: 'leasehold' };
  const told = { here: 0, there: 0 };
  const stops = [
    enqueuedIn(here, QUEUE, undefined)(() => void told.here++),
    enqueuedIn({ ...here, ...there }, QUEUE, undefined)(() => void told.there++),
  ];
  const { client: ofHere } = openMemoryQueue(undefined, announcingIn(here));

  await ofHere.enqueue('t', {}, { id: 'a' });
  for (const stop of stops) stop();

  expect(told).toEqual({ here: 1, there: 0 });
});

test('a listener that stops, stops for announcements of others too', () => {
  let stopped = 0;
  const listening = enqueuedIn({ table: 'table' }, QUEUE, () => () => void stopped++);

  listening(() => undefined)();

  expect(stopped).toBe(1);
});
