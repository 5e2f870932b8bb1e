/** Tasks that wait for a slot of their key, in virtual time: workers walk past them while the key is full, and come back for them. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { EnqueueOptions } from '../../../../shared/tasks/queue/task-client.ts';
import { HandedBackError } from '../../../../shared/tasks/task/control.ts';
import { PAGE_ENTRIES } from '../../../../shared/tasks/picker/tuning.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import type { TaskRecord } from '../../../../shared/tasks/task/task.ts';
import type { MemoryQueue } from '../../../support/memory-queue.ts';
import { MEMORY_TTL_MS, openMemoryQueue, QUEUE } from '../../../support/memory-queue.ts';
import { Mortal } from '../../../support/mortal.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const LONG_MS = 30 * SECOND_MS;
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
  test('costs no write, and its worker little', async () => {
    await fill(120);
    await q.clock.advance(SECOND_MS);
    for (let n = 0; n < 5; n++) await q.client.enqueue('free', {}, { id: `f${n}` });
    const beganAt = q.clock.monotonic();

    const report = await q.work(
      { keyed: keyed(60 * MINUTE_MS), free },
      { concurrency: 10, handBack: handedBackAfter(2 * MINUTE_MS) },
    );

    const others = startedAtMs.filter(({ id }) => id.startsWith('f')).map(({ at }) => at - beganAt);
    expect(others).toHaveLength(5);
    expect(Math.max(...others)).toBeLessThan(5 * SECOND_MS);
    expect(report?.claimsRefused).toBeLessThan(10);
    expect(requests('task.join')).toBe(0);
    expect(requests('task.getMany')).toBeLessThan(100);
  });

  test('lets its worker rest until the next window of its rate', async () => {
    await fill(120, { rate: { count: 1, per: '1h' } });
    const before = q.meter.read().readUnits;

    const report = await q.work({ keyed: keyed(0) }, { concurrency: 5 });

    expect(report).toMatchObject({ ended: 'drained', claimed: 1 });
    expect(report?.claimsRefused).toBeLessThan(10);
    expect(q.meter.read().readUnits - before).toBeLessThan(150);
  });

  test('runs to its end without a pause when its key has capacity again', async () => {
    await fill(40);

    const report = await q.work({ keyed: keyed(LONG_MS) }, { concurrency: 5 });

    expect(report?.settled.done).toBe(40);
    const gapsMs = startedAtMs.slice(2).map(({ at }, index) => at - (startedAtMs[index + 1]?.at ?? 0));
    expect(Math.max(...gapsMs)).toBeLessThan(5 * SECOND_MS);
  });

  test('keeps a worker that found the key full while the tasks of other workers follow one another', async () => {
    await fill(60, { limit: 2 });
    const brief = defineTask({ name: 'keyed', run: () => q.clock.sleep(200) });
    const first = q.work({ keyed: brief }, { concurrency: 2, handBack: handedBackAfter(2 * SECOND_MS) });
    await q.clock.advance(SECOND_MS);

    const report = await q.work({ keyed: brief }, { concurrency: 2 });

    expect(report?.settled.done).toBe(60 - ((await first)?.settled.done ?? 0));
  });

  test('costs its worker few rows a task, even if it polls many lanes before', async () => {
    await fill(50);
    const slow = defineTask({ name: 'keyed', run: () => q.clock.sleep(SECOND_MS) });
    const before = q.meter.read().readUnits;

    await q.work({ keyed: slow });

    expect((q.meter.read().readUnits - before) / 50).toBeLessThan(5);
  });

  test('runs at its rate, window by window', async () => {
    const perMs = 2 * MINUTE_MS;
    await fill(9, { limit: 5, rate: { count: 3, per: perMs } });
    const handBack = new AbortController();

    // As a schedule does: a worker each minute.
    for (let minute = 0; minute < 7; minute++) {
      await q.work({ keyed: keyed(0) }, { concurrency: 5, handBack: handBack.signal });
      await q.clock.advance(MINUTE_MS);
    }

    expect(startedAtMs).toHaveLength(9);
    const windows = Map.groupBy(startedAtMs, ({ at }) => Math.floor(at / perMs));
    expect([...windows.values()].map((tasks) => tasks.length)).toEqual([3, 3, 3]);
  });
});

describe('a slot that is left', () => {
  /** One runs and one waits behind it. */
  const waitBehind = async (run: (id: string) => unknown, options: EnqueueOptions = {}) => {
    await fill(2, options);
    const definition = defineTask({ name: 'keyed', retry: { maxAttempts: 2 }, run: (_input, { id }) => run(id) });
    return definition;
  };

  test.each([
    ['fails, to be tried again', () => Promise.reject(new Error('boom'))],
    ['is done', () => Promise.resolve('well')],
  ])('by one that %s passes to the next one', async (_how, end) => {
    const definition = await waitBehind(async (id) => {
      start(id);
      if (startedAtMs.length > 1) return 'well';
      await q.clock.sleep(LONG_MS);
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

  test('passes to the next task from one that expired within the window', async () => {
    const perMs = MINUTE_MS;
    await q.clock.advance(10 * SECOND_MS);
    for (const id of ['k0', 'k1', 'k2']) {
      const expiry: EnqueueOptions = id === 'k1' ? { expires: '30s' } : {};
      await q.client.enqueue('keyed', {}, { id, key: 'customer', limit: 1, rate: { count: 1, per: perMs }, ...expiry });
      await q.clock.advance(100);
    }
    const busy = defineTask({ name: 'busy', run: () => q.clock.sleep(2 * perMs) });
    await q.client.enqueue('busy', {}, { id: 'busy', priority: 'high' });

    await q.work({ keyed: keyed(0), busy }, { concurrency: 2 });

    expect(startedAtMs.map(({ id }) => id)).toEqual(['k0', 'k2']);
    expect((startedAtMs[1]?.at ?? Infinity) % perMs).toBeLessThan(5 * SECOND_MS);
  });

  test('passes on from a parent that waits for children, and the parent waits again', async () => {
    const ended: string[] = [];
    const child = defineTask({ name: 'child', run: () => q.clock.sleep(LONG_MS) });
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
    expect((startedAtMs[1]?.at ?? 0) - (startedAtMs[0]?.at ?? 0)).toBeLessThan(LONG_MS);
  });

  test('stays with a task that is handed back, where it stands', async () => {
    const definition = await waitBehind(async (id) => {
      start(id);
      await q.clock.sleep(2 * LONG_MS);
    });
    await q.work({ keyed: definition }, { concurrency: 2, handBack: handedBackAfter(LONG_MS) });

    expect(await read(startedAtMs[0]?.id ?? '')).toMatchObject({ state: 'ready', isInGroup: true });
  });

  test('finds it within half a minute if it was in another worker', async () => {
    await fill(2);
    const handBack = new AbortController();
    const leaving = defineTask({
      name: 'keyed',
      async run() {
        await q.clock.sleep(3 * MINUTE_MS);
        handBack.abort(new HandedBackError('deadline'));
      },
    });
    const holding = q.start({ keyed: leaving }, { handBack: handBack.signal });
    await q.clock.advance(MINUTE_MS);
    const busy = defineTask({ name: 'busy', run: () => q.clock.sleep(4 * MINUTE_MS) });
    await q.client.enqueue('busy', {}, { id: 'busy' });
    const beganAt = q.clock.monotonic();

    await q.work({ keyed: keyed(0), busy }, { concurrency: 2 });
    await holding;

    expect(startedAtMs).toHaveLength(1);
    expect((startedAtMs[0]?.at ?? Infinity) - beganAt).toBeLessThan(2 * MINUTE_MS + 35 * SECOND_MS);
  });
});

describe('a full key that has stood still for long', () => {
  test('costs a worker that starts now the rows of its first tasks and of the running task', async () => {
    for (let n = 0; n < 50; n++) {
      await q.client.enqueue('keyed', {}, { id: `k${n}`, key: 'customer', limit: 1 });
      await q.clock.advance(1);
    }
    const handBack = new AbortController();
    const holding = q.start({ keyed: keyed(60 * MINUTE_MS) }, { handBack: handBack.signal, named: ['k0'] });
    await q.clock.advance(MINUTE_MS);

    expect(await q.work({ keyed: keyed(0) })).toMatchObject({ ended: 'drained', claimed: 0 });

    // The others of the page are passed.
    expect(q.meter.read().byVerb['task.getMany']?.readUnits).toBeLessThanOrEqual((1 + PAGE_ENTRIES / 2) / 2);
    handBack.abort(new HandedBackError('deadline'));
    await q.clock.runUntil(holding, () => true);
  });
});

describe('a full key whose worker has crashed', () => {
  const DEEP = 150;

  test.each([
    ['the first of its tasks', 'k0', MEMORY_TTL_MS + 15 * SECOND_MS],
    ['one of the last of its tasks', `k${DEEP - 1}`, MEMORY_TTL_MS + 25 * SECOND_MS],
  ])('is served again, if it ran %s', async (_which, id, withinMs) => {
    for (let n = 0; n < DEEP; n++) {
      await q.client.enqueue('keyed', {}, { id: `k${n}`, key: 'customer', limit: 1 });
      await q.clock.advance(1);
    }
    const dying = new Mortal();
    await q.work({ keyed: defineTask({ name: 'keyed', run: () => dying.kill() }) }, { process: dying, named: [id] });
    expect(await read(id)).toMatchObject({ state: 'running' });
    const busy = defineTask({ name: 'busy', run: () => q.clock.sleep(MINUTE_MS) });
    await q.client.enqueue('busy', {}, { id: 'busy' });
    const beganAt = q.clock.monotonic();

    await q.work({ keyed: keyed(0), busy }, { concurrency: 2 });

    expect(startedAtMs).toHaveLength(DEEP);
    expect(startedAtMs[0]?.id).toBe(id);
    expect((startedAtMs[0]?.at ?? Infinity) - beganAt).toBeLessThan(withinMs);
  });
});

describe('a task of a full key', () => {
  test('that becomes due moves to the others once, and the worker walks past it from then on', async () => {
    await fill(1);
    for (let n = 0; n < 30; n++)
      await q.client.enqueue('keyed', {}, { id: `later${n}`, key: 'customer', limit: 1, delay: '10s' });

    await q.work({ keyed: keyed(60 * MINUTE_MS) }, { concurrency: 3, handBack: handedBackAfter(MINUTE_MS) });

    expect(await read('later0')).toMatchObject({ state: 'ready', isInGroup: true });
    expect(requests('task.join')).toBe(30);
    expect(requests('task.getMany')).toBeLessThan(100);
  });
});

test('the first task with a key is found soon by a worker that no dispatcher helps', async () => {
  const handBack = new AbortController();
  const standing = q.start({ keyed: keyed(0) }, { lingerMs: Infinity, handBack: handBack.signal });
  // Its polls of lanes that are not in use come round in two minutes.
  await q.clock.advance(100 * SECOND_MS);
  await fill(1);

  await q.clock.advance(35 * SECOND_MS);

  expect(startedAtMs).toHaveLength(1);
  handBack.abort(new HandedBackError('deadline'));
  await q.clock.runUntil(standing, () => true);
});

/** The polls in ten seconds of a standing worker of eight shards, from an enqueue on. */
async function pollsOfStanding(tasks: Parameters<MemoryQueue['start']>[0], enqueue: () => Promise<unknown>) {
  const handBack = new AbortController();
  const homeShards = [0, 1, 2, 3, 4, 5, 6, 7];
  const options = { lingerMs: Infinity, shards: 8, homeShards, handBack: handBack.signal };
  const standing = q.start({ keyed: keyed(0), ...tasks }, options);
  await q.clock.advance(SECOND_MS);
  const polls = () => requests('task.page') + requests('task.pageOfGroups');
  const before = polls();

  await enqueue();
  await q.clock.advance(10 * SECOND_MS);

  const made = polls() - before;
  handBack.abort(new HandedBackError('deadline'));
  await q.clock.runUntil(standing, () => true);
  return made;
}

test('a task that a standing worker commits is read by its id, and no partition is polled for it', async () => {
  await fill(1);
  let left = 100;
  const link = defineTask({ name: 'chain', run: () => undefined });
  const chain = defineTask({
    name: 'chain',
    run: (_input, context) => (left-- > 0 ? context.commit(null, [], { spawn: [spawn(link, {})] }) : undefined),
  });

  const polls = await pollsOfStanding({ chain }, () => q.client.enqueue('chain', {}, { id: 'first' }));

  expect(left).toBeLessThan(0);
  expect(polls).toBeLessThan(400);
});

test('a standing worker polls no other partition when a task that has the turn of its line is tried again', async () => {
  await fill(1);
  let attempts = 0;
  const retry = { maxAttempts: 100, backoff: 200, backoffCap: 200 };
  const stumbles = defineTask({ name: 'stumbles', retry, run: () => (++attempts, Promise.reject(new Error('no'))) });

  const polls = await pollsOfStanding({ stumbles }, () =>
    q.client.enqueue('stumbles', {}, { id: 'first', key: 'line', ordered: true }),
  );

  expect(attempts).toBeGreaterThan(8);
  expect(polls).toBeLessThan(400);
});

test('a full key whose known runner crashes is served again by a worker that is never without other tasks', async () => {
  await fill(2);
  const dying = new Mortal();
  const dies = defineTask({
    name: 'keyed',
    async run() {
      await q.clock.sleep(LONG_MS);
      return dying.kill();
    },
  });
  const crashing = q.start({ keyed: dies }, { process: dying, named: ['k0'] });
  await q.clock.advance(SECOND_MS);
  for (let n = 0; n < 1_200; n++) await q.client.enqueue('free', {}, { id: `f${n}` });
  const beganAt = q.clock.monotonic();
  const slow = defineTask({ name: 'free', run: () => q.clock.sleep(100) });

  await q.work({ keyed: keyed(0), free: slow }, { concurrency: 1 });
  await crashing;

  expect(startedAtMs).toHaveLength(2);
  expect((startedAtMs[0]?.at ?? Infinity) - beganAt).toBeLessThan(LONG_MS + MEMORY_TTL_MS + 10 * SECOND_MS);
});
