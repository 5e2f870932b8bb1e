/** `createWorker` against the engine in memory, through the same HTTP as in a container. */
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { MemoryEngine } from '../../../local/engine/memory.ts';
import { startMemoryEngine } from '../../../local/engine/memory.ts';
import type { WorkerOptions } from '../../../shared/client/create-worker.ts';
import { createWorker } from '../../../shared/client/create-worker.ts';
import type { Leasehold } from '../../../shared/client/leasehold.ts';
import { createLeasehold } from '../../../shared/client/leasehold.ts';
import { DoNotRetry } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import { silent } from '../../../shared/testing/silent-log.ts';

let engine: MemoryEngine;
let leasehold: Leasehold;

beforeAll(async () => {
  engine = await startMemoryEngine(undefined);
  leasehold = createLeasehold({ endpoint: engine.endpoint });
  await leasehold.createTable();
});
afterAll(async () => {
  leasehold.close();
  await engine.stop();
});

const greet = defineTask({ name: 'greet', run: ({ name }: { readonly name: string }) => `hello ${name}` });

describe('a worker of one’s own process', () => {
  const create = (exports: Readonly<Record<string, unknown>>, options: WorkerOptions = {}) =>
    createWorker(exports, { endpoint: engine.endpoint, log: silent, ...options });

  test('listens to the stream of an engine on this machine', async () => {
    const asked = vi.spyOn(globalThis, 'fetch');
    const reads = (): number =>
      asked.mock.calls.filter(([, init]) => JSON.stringify(init?.headers).includes('GetRecords')).length;
    try {
      const worker = create({ greet }, { queue: 'listening' });
      const running = worker.run();
      await vi.waitFor(() => expect(reads()).toBeGreaterThan(0), { timeout: 120_000 });
      worker.stop();
      await running;
    } finally {
      asked.mockRestore();
    }
  });

  test('runs waiting tasks, and reports how they ended', async () => {
    const fails = defineTask({
      name: 'fails',
      run: () => {
        throw new DoNotRetry('as it should');
      },
    });
    const settled: string[] = [];
    await leasehold.tasks.enqueue(greet, { name: 'Ada' }, { queue: 'drained', id: 'ada' });
    await leasehold.tasks.enqueue('fails', null, { queue: 'drained', id: 'fails' });

    const worker = create(
      { greet, fails },
      {
        queue: 'drained',
        untilDrained: true,
        events: { onSettled: ({ id }, end) => void settled.push(`${id} ${end}`) },
      },
    );

    expect(await worker.run()).toEqual({ done: 1, retried: 0, dead: 1, other: 0 });
    expect(await leasehold.tasks.get('ada', 'drained')).toMatchObject({ state: 'done', result: 'hello Ada' });
    expect(settled.sort()).toEqual(['ada done', 'fails dead']);
    await expect(worker.run()).rejects.toThrow('has been run already');
  });

  test('counts as dead a task whose last attempt it lost with its session', async () => {
    const queue = 'buried';
    const dies = defineTask({
      name: 'dies',
      retry: { maxAttempts: 1 },
      run: async (_: null, { id, signal }) => {
        const row = await leasehold.tasks.get(id, queue);
        if (row?.state === 'running') await leasehold.sessions.destroy(row.session, { lockDelay: 0 });
        await once(signal, 'abort');
        signal.throwIfAborted();
      },
    });
    await leasehold.tasks.enqueue(dies, null, { queue, id: 'dies' });

    const totals = await create({ dies }, { queue, untilDrained: true, sessionTtl: 300 }).run();

    expect(totals).toMatchObject({ done: 0, dead: 1 });
    expect(await leasehold.tasks.get('dies', queue)).toMatchObject({ state: 'dead' });
  });

  test('starts nothing if stopped before it began', async () => {
    await leasehold.tasks.enqueue(greet, { name: 'Ada' }, { queue: 'early', id: 'ada' });
    const worker = create({ greet }, { queue: 'early' });
    worker.stop();

    expect(await worker.run()).toEqual({ done: 0, retried: 0, dead: 0, other: 0 });
    expect(await leasehold.tasks.get('ada', 'early')).toMatchObject({ state: 'ready' });
  });

  test.each([
    ['concurrency', { concurrency: 0 }, 'concurrency = 0'],
    ['ttl', { ttl: '30s' }, 'did you mean sessionTtl?'],
    ['attemptSpans', { attemptSpans: 'none' }, 'attemptSpans = "none": must be one of parent, link'],
    ['grace', { grace: 'soon' }, 'grace'],
  ])('refuses %s that it cannot use', (_what, options, message) => {
    expect(() => createWorker({ greet }, options as WorkerOptions)).toThrow(message);
  });
});
