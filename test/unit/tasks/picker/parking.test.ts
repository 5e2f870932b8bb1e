/** Tasks that wait for a place of their key, in virtual time: out of sight while they wait, and back as soon as there is room. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { EnqueueOptions } from '../../../../shared/tasks/queue/task-client.ts';
import { PARKED_FROM_MS } from '../../../../shared/tasks/task/parking.ts';
import { HandedBackError } from '../../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import type { TaskRecord } from '../../../../shared/tasks/task/task.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { MEMORY_TTL_MS, openMemoryQueue, QUEUE } from '../../../support/memory-queue.ts';
import { Mortal } from '../../../support/mortal.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
/** Longer than a task stays in sight that waits for one other. */
const LONG_MS = PARKED_FROM_MS + 10 * SECOND_MS;
let q: MemoryQueue;
let startedAtMs: { readonly id: string; readonly at: number }[];

beforeEach(() => {
  q = openMemoryQueue();
  startedAtMs = [];
});

const fill = (count: number, options: EnqueueOptions = {}) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      q.client.enqueue('keyed', { n }, { id: `k${n}`, key: 'customer', limit: 1, ...options }),
    ),
  );
const read = (id: string) => q.tasks.get({ queue: QUEUE, id }) as Promise<TaskRecord>;
const isParked = async (id: string) => {
  const task = await read(id);
  return task.state === 'ready' && task.isParked;
};
const start = (id: string) => startedAtMs.push({ id, at: q.clock.monotonic() });
/** The first takes long, the others no time. */
const keyed = (firstMs: number) =>
  defineTask({
    name: 'keyed',
    async run(_input, { signal, id }) {
      start(id);
      if (startedAtMs.length === 1) await q.clock.sleep(firstMs, signal);
      signal.throwIfAborted();
    },
  });
const free = defineTask({ name: 'free', run: (_input, { id }) => void start(id) });
const handedBackAfter = (ms: number) => {
  const handBack = new AbortController();
  void q.clock.sleep(ms).then(() => {
    handBack.abort(new HandedBackError('deadline'));
  });
  return handBack.signal;
};
const requests = (verb: string) => q.meter.read().byVerb[verb]?.requests ?? 0;

describe('a flood of one key', () => {
  test('is parked once, and costs its worker little from then on', async () => {
    await fill(400);
    await q.clock.advance(SECOND_MS);
    for (let n = 0; n < 5; n++) await q.client.enqueue('free', {}, { id: `f${n}` });
    const beganAt = q.clock.monotonic();

    const report = await q.work(
      { keyed: keyed(60 * MINUTE_MS), free },
      { concurrency: 10, handBack: handedBackAfter(6 * MINUTE_MS) },
    );

    const others = startedAtMs.filter(({ id }) => id.startsWith('f')).map(({ at }) => at - beganAt);
    expect(others).toHaveLength(5);
    expect(Math.max(...others)).toBeLessThan(5 * SECOND_MS);
    expect(report?.claimsRefused).toBeLessThan(10);
    expect(requests('task.park')).toBe(399);
    // They were read eight hundred times a second before.
    expect(requests('task.getMany')).toBeLessThan(400);
  });

  test('lets its worker rest until the next window of its rate', async () => {
    await fill(500, { rate: { count: 1, per: '1h' } });
    const before = q.meter.read().readUnits;

    const report = await q.work({ keyed: keyed(0) }, { concurrency: 5 });

    expect(report).toMatchObject({ ended: 'drained', claimed: 1 });
    expect(report?.claimsRefused).toBeLessThan(10);
    expect(q.meter.read().readUnits - before).toBeLessThan(1_000);
  });

  test('runs to its end without a pause when its key has capacity again', async () => {
    await fill(100);

    const report = await q.work({ keyed: keyed(90 * SECOND_MS) }, { concurrency: 5 });

    expect(report?.settled.done).toBe(100);
    expect(requests('task.park')).toBeGreaterThan(50);
    const gapsMs = startedAtMs.slice(2).map(({ at }, index) => at - (startedAtMs[index + 1]?.at ?? 0));
    expect(Math.max(...gapsMs)).toBeLessThan(5 * SECOND_MS);
  });

  test('runs at its rate, window by window, because visible tasks unpark others', async () => {
    const perMs = 5 * MINUTE_MS;
    await fill(9, { limit: 5, rate: { count: 3, per: perMs } });
    const handBack = new AbortController();

    // As a schedule does: a worker each minute.
    for (let minute = 0; minute < 16; minute++) {
      await q.work({ keyed: keyed(0) }, { concurrency: 5, handBack: handBack.signal });
      await q.clock.advance(MINUTE_MS);
    }

    expect(startedAtMs).toHaveLength(9);
    const windows = Map.groupBy(startedAtMs, ({ at }) => Math.floor(at / perMs));
    expect([...windows.values()].map((tasks) => tasks.length)).toEqual([3, 3, 3]);
  });
});

describe('a place that is left', () => {
  /** One runs and one is parked behind it. */
  const parkBehind = async (run: (id: string) => unknown, options: EnqueueOptions = {}) => {
    await fill(2, options);
    const definition = defineTask({ name: 'keyed', retry: { maxAttempts: 2 }, run: (_input, { id }) => run(id) });
    return definition;
  };

  test.each([
    ['fails, to be tried again', () => Promise.reject(new Error('boom'))],
    ['is done', () => Promise.resolve('well')],
  ])('by one that %s passes to the parked one', async (_how, end) => {
    const definition = await parkBehind(async (id) => {
      start(id);
      if (startedAtMs.length > 1) return 'well';
      await q.clock.sleep(LONG_MS);
      expect(await isParked(id === 'k0' ? 'k1' : 'k0')).toBe(true);
      return end();
    });

    // With other work at hand its worker is never idle, and repairs nothing.
    await q.client.enqueue('busy', {}, { id: 'busy' });
    const busy = defineTask({ name: 'busy', run: () => q.clock.sleep(2 * LONG_MS) });

    await q.work({ keyed: definition, busy }, { concurrency: 3 });

    const [first, second] = startedAtMs;
    expect(second?.id).not.toBe(first?.id);
    expect((second?.at ?? 0) - (first?.at ?? 0) - LONG_MS).toBeLessThan(2 * SECOND_MS);
  });

  test('by one whose worker died for the last time passes to the parked one', async () => {
    await fill(2);
    const dying = new Mortal();
    const definition = defineTask({
      name: 'keyed',
      retry: { maxAttempts: 1 },
      run: (_input, { id }) => (dying.isDead ? void start(id) : dying.kill()),
    });
    await q.work({ keyed: definition }, { process: dying });
    const rows = [await read('k0'), await read('k1')];
    const waiting = rows.find(({ state }) => state === 'ready');
    if (waiting?.state !== 'ready') throw new Error('not ready');
    await q.tasks.parking.park([{ task: waiting, write: { now: q.clock.now(), nonce: 'n1' } }], 'customer');
    // Its worker repairs once at first, while the session of the dead one is still believed.
    await q.client.enqueue('busy', {}, { id: 'busy' });
    const busy = defineTask({ name: 'busy', run: () => q.clock.sleep(2 * LONG_MS) });
    const beganAt = q.clock.monotonic();

    await q.work({ keyed: definition, busy }, { concurrency: 2 });

    expect(startedAtMs.map(({ id }) => id)).toEqual([waiting.id]);
    expect((startedAtMs[0]?.at ?? Infinity) - beganAt).toBeLessThan(MEMORY_TTL_MS + 5 * SECOND_MS);
  });

  test('stays with a task that is handed back', async () => {
    const definition = await parkBehind(async (id) => {
      start(id);
      await q.clock.sleep(10 * MINUTE_MS);
    });
    await q.work({ keyed: definition }, { concurrency: 2, handBack: handedBackAfter(LONG_MS) });
    const [first] = startedAtMs;

    expect(await read(first?.id ?? '')).toMatchObject({ state: 'ready', isParked: false });
    expect(await isParked(first?.id === 'k0' ? 'k1' : 'k0')).toBe(true);
  });

  test('is found by an otherwise idle worker without any message', async () => {
    const definition = await parkBehind((id) => void start(id));
    const task = await read('k0');
    if (task.state !== 'ready') throw new Error('not ready');
    const claimed = await q.tasks.claim(task, 'a session', { now: q.clock.now(), nonce: 'n1' });
    if (claimed.kind !== 'applied') throw new Error('refused');
    const waiting = await read('k1');
    if (waiting.state !== 'ready') throw new Error('not ready');
    await q.tasks.parking.park([{ task: waiting, write: { now: q.clock.now(), nonce: 'n2' } }], 'customer');
    expect(await isParked('k1')).toBe(true);
    // Completed by a worker that does not know parking, or that dies just then.
    await q.tasks.complete(claimed.row, null, { now: q.clock.now(), nonce: 'n3' });

    await q.work({ keyed: definition });

    expect(startedAtMs.map(({ id }) => id)).toEqual(['k1']);
  });

  /** `k0` ends and `k1` stays parked, as if the check for parked tasks had missed it. */
  const leaveInSilence = async () => {
    await fill(2);
    const write = (nonce: string) => ({ now: q.clock.now(), nonce });
    const [task, waiting] = [await read('k0'), await read('k1')];
    if (task.state !== 'ready' || waiting.state !== 'ready') throw new Error('not ready');
    const claimed = await q.tasks.claim(task, 'a session', write('n1'));
    if (claimed.kind !== 'applied') throw new Error('refused');
    await q.tasks.parking.park([{ task: waiting, write: write('n2') }], 'customer');
    await q.tasks.complete(claimed.row, null, write('n3'));
    expect(await isParked('k1')).toBe(true);
  };

  test.each([
    ['at work for long', 1, 10 * MINUTE_MS],
    ['at work on a long backlog', 300, 1_000],
  ])('in silence is found within a minute by a worker that is %s', async (_how, others, eachMs) => {
    const busy = defineTask({
      name: 'busy',
      async run(_input, { id }) {
        if (id === 'b0') {
          await q.clock.sleep(10 * SECOND_MS);
          await leaveInSilence();
        }
        await q.clock.sleep(eachMs);
      },
    });
    for (let n = 0; n < others; n++) await q.client.enqueue('busy', {}, { id: `b${n}` });
    const definition = defineTask({ name: 'keyed', run: (_input, { id }) => void start(id) });
    const beganAt = q.clock.monotonic();

    await q.work({ keyed: definition, busy }, { concurrency: 2 });

    expect(startedAtMs.map(({ id }) => id)).toEqual(['k1']);
    expect((startedAtMs[0]?.at ?? Infinity) - beganAt).toBeLessThan(10 * SECOND_MS + MINUTE_MS + 5 * SECOND_MS);
  });

  test('passes to the parked task from one that expired within the window', async () => {
    const perMs = 10 * MINUTE_MS;
    await q.clock.advance(30 * SECOND_MS);
    for (const id of ['k0', 'k1', 'k2']) {
      const expiry: EnqueueOptions = id === 'k1' ? { expiresIn: '5m' } : {};
      await q.client.enqueue('keyed', {}, { id, key: 'customer', limit: 1, rate: { count: 1, per: perMs }, ...expiry });
      await q.clock.advance(100);
    }
    const busy = defineTask({ name: 'busy', run: () => q.clock.sleep(2 * perMs) });
    await q.client.enqueue('busy', {}, { id: 'busy', priority: 'high' });

    await q.work({ keyed: keyed(0), busy }, { concurrency: 2 });

    expect(startedAtMs.map(({ id }) => id)).toEqual(['k0', 'k2']);
    expect((startedAtMs[1]?.at ?? Infinity) % perMs).toBeLessThan(5 * SECOND_MS);
  });

  test('passes on from a parent that waits for children, and the parent queues again', async () => {
    const ended: string[] = [];
    const child = defineTask({ name: 'child', run: () => q.clock.sleep(2 * MINUTE_MS) });
    const parent = defineTask({
      name: 'keyed',
      async run(_input, task) {
        start(task.id);
        if (task.children === undefined)
          return task.waitFor([{ task: child, input: {}, options: { id: `${task.id}/child` } }]);
        return void ended.push(task.id);
      },
    });
    await fill(2);

    await q.work({ keyed: parent, child }, { concurrency: 4 });

    expect(ended.toSorted()).toEqual(['k0', 'k1']);
    // The second began while the children of the first were at work.
    expect((startedAtMs[1]?.at ?? 0) - (startedAtMs[0]?.at ?? 0)).toBeLessThan(MINUTE_MS);
  });
});
