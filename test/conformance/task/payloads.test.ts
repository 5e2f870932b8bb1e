import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { ConfigurationError, MismatchError } from '../../../shared/core/errors.ts';
import { TaskClient } from '../../../shared/tasks/queue/task-client.ts';
import type { EnqueueOptions } from '../../../shared/tasks/queue/task-client.ts';
import type { TaskContext } from '../../../shared/tasks/task/context.ts';
import { DoNotRetry } from '../../../shared/tasks/task/control.ts';
import { defineTask } from '../../../shared/tasks/task/definition.ts';
import type { PayloadStore } from '../../../shared/tasks/task/payload.ts';
import { PAYLOAD_ROW_LIMIT_BYTES } from '../../../shared/tasks/task/payload.ts';
import { spawn } from '../../../shared/tasks/task/task-request.ts';
import type { QueueUnderTest } from '../../support/queue.ts';
import { openQueue } from '../../support/queue.ts';
import { describeOnStore } from '../../support/stores.ts';
import { stamp } from '../../support/tasks.ts';

/** A user's store that forgets nothing by itself. */
class MemoryPayloads implements PayloadStore {
  readonly texts = new Map<string, string>();

  put(name: string, text: string): Promise<string> {
    this.texts.set(`memory:${name}`, text);
    return Promise.resolve(`memory:${name}`);
  }

  get(reference: string): Promise<string | undefined> {
    return Promise.resolve(this.texts.get(reference));
  }

  delete(reference: string): Promise<void> {
    this.texts.delete(reference);
    return Promise.resolve();
  }
}

const LARGE = { text: 'x'.repeat(40_000) };
const HUGE = { text: 'ä'.repeat(PAYLOAD_ROW_LIMIT_BYTES) };

describeOnStore('inputs that are too large for a task’s row', (open) => {
  let q: QueueUnderTest;
  let payloads: MemoryPayloads;
  let client: TaskClient;
  let seen: unknown[];
  const see = defineTask({
    name: 'see',
    run(input: unknown) {
      seen.push(input);
    },
  });

  beforeEach(() => {
    q = openQueue(open());
    payloads = new MemoryPayloads();
    client = new TaskClient({ store: q.tasks, runtime: q.runtime }, { queue: q.queue, payloads });
    seen = [];
  });

  const enqueue = (input: unknown, options: EnqueueOptions = {}) =>
    client.enqueue('see', input, { id: 't', ...options });
  const get = () => q.tasks.get({ queue: q.queue, id: 't' });
  const rowOf = async () => q.tasks.getPayload((await get()) ?? { queue: q.queue, id: 't' });
  const work = (definitions: Record<string, unknown> = { see }) => q.work(definitions, { ports: { payloads } });

  test('stores a large input in a second row, passes it to the code, and removes it at the end', async () => {
    await enqueue(LARGE);
    expect(await get()).toMatchObject({ input: null, payload: { bytes: 40_011, reference: undefined } });
    expect(await rowOf()).toBe(JSON.stringify(LARGE));

    await work();

    expect(seen).toEqual([LARGE]);
    expect(await rowOf()).toBeUndefined();
  });

  test("stores a huge input in the user's store, passes it to the code, and removes it at the end", async () => {
    await enqueue(HUGE);
    const reference = [...payloads.texts.keys()][0] ?? '';
    expect(await get()).toMatchObject({ input: null, payload: { reference } });
    expect(await rowOf()).toBeUndefined();

    await work();

    expect(seen).toEqual([HUGE]);
    expect(payloads.texts.size).toBe(0);
  });

  test.each([
    ['large', LARGE],
    ['huge', HUGE],
  ])('a %s one stays while its task may be run again', async (_size, input) => {
    let attempts = 0;
    const failing = defineTask({
      name: 'see',
      run(given: unknown) {
        seen.push(given);
        if (++attempts < 2) throw new DoNotRetry('not today');
      },
    });
    await enqueue(input);
    expect((await work({ failing })).settled.dead).toBe(1);

    await q.operator.retry('t');
    await work({ failing });

    expect(seen).toEqual([input, input]);
    expect([await rowOf(), payloads.texts.size]).toEqual([undefined, 0]);
  });

  test('treats the same input as the same work, and another as a mismatch that leaves nothing behind', async () => {
    await enqueue(HUGE);

    expect(await enqueue(HUGE)).toMatchObject({ created: false });
    await expect(enqueue({ ...HUGE, more: 1 })).rejects.toThrow(MismatchError);
    await expect(enqueue(LARGE)).rejects.toThrow(MismatchError);

    expect(payloads.texts.size).toBe(1);
    await work();
    expect(seen).toEqual([HUGE]);
  });

  test('gives a replaced task its new input, of any size', async () => {
    const replace = { onDuplicate: 'replace' } as const;
    await enqueue(LARGE);
    const former = (await get()) ?? { queue: q.queue, id: 't' };
    await enqueue({ ...LARGE, n: 2 }, replace);
    expect([await rowOf(), await q.tasks.getPayload(former)]).toEqual([JSON.stringify({ ...LARGE, n: 2 }), undefined]);
    await enqueue({ small: true }, replace);
    expect(await get()).toMatchObject({ input: { small: true }, payload: undefined });
    expect(await rowOf()).toBeUndefined();
    await enqueue(HUGE, replace);
    await enqueue({ ...LARGE, n: 3 }, replace);
    expect(payloads.texts.size).toBe(0);

    await work();

    expect(seen).toEqual([{ ...LARGE, n: 3 }]);
  });

  test('removes the payload of ended work without touching the payload of new work', async () => {
    await enqueue(LARGE);
    const old = await get();
    await q.operator.cancel('t');
    await enqueue({ ...LARGE, n: 2 }, { onDuplicate: 'replace' });

    if (old?.payload === undefined) throw new Error('there is no payload');
    await q.tasks.deletePayload(old, old.payload);

    expect(await rowOf()).toBe(JSON.stringify({ ...LARGE, n: 2 }));
  });

  test('accepts large inputs of children, in commit, in waitFor, and in lines', async () => {
    const parent = defineTask({
      name: 'parent',
      run: (_: unknown, task: TaskContext): Promise<unknown> =>
        task.children === undefined
          ? task.waitFor([spawn(see, { ...LARGE, n: 1 }), spawn(see, { ...HUGE, n: 2 })])
          : task.commit(null, [], { spawn: [spawn(see, { ...LARGE, n: 3 })] }),
    });
    await client.enqueue(parent, {}, { id: 'p' });
    await client.enqueue(see, { ...LARGE, n: 4 }, { key: 'k', ordered: true });
    await client.enqueue(see, { ...LARGE, n: 5 }, { key: 'k', ordered: true });

    await work({ parent, see });

    expect(seen.map((input) => (input as { n: number }).n).sort()).toEqual([1, 2, 3, 4, 5]);
    expect(payloads.texts.size).toBe(0);
  });

  test('marks only the task dead whose payload is missing or different, and gives the reason', async () => {
    await enqueue(LARGE);
    const task = await get();
    await q.tasks.deletePayload({ queue: q.queue, id: 't' }, task?.payload ?? (undefined as never));
    await enqueue(HUGE, { id: 'forged' });
    for (const reference of payloads.texts.keys()) payloads.texts.set(reference, '"forged"');
    await enqueue({}, { id: 'fine' });

    const report = await work();

    expect(report.settled).toMatchObject({ dead: 2, done: 1 });
    expect((await get())?.lastError?.message).toContain('is gone');
    const forged = await q.tasks.get({ queue: q.queue, id: 'forged' });
    expect(forged?.lastError?.message).toContain('not the one');
  });

  test('reports a missing payload store of the worker', async () => {
    await enqueue(HUGE);

    await q.work({ see: { ...see, retry: { ...see.retry, maxAttempts: 1 } } });

    expect((await get())?.lastError?.message).toContain('pass the store for payloads to the worker');
    expect(payloads.texts.size).toBe(1);
  });

  test('refuses a huge one without a store, and in a callback, before anything is written', async () => {
    await expect(q.client.enqueue('see', HUGE, { id: 't' })).rejects.toThrow(ConfigurationError);
    const batch = client.enqueueBatch([spawn(see, {}, { id: 't' })], { id: 'b', then: spawn(see, LARGE) });
    await expect(batch).rejects.toThrow('takes at most 16384');

    expect(await get()).toBeUndefined();
  });

  test('units: one a KB, and one a KB to remove it', async () => {
    const random = randomBytes(30_000).toString('base64');
    await enqueue(random);
    const task = await get();
    if (task?.state !== 'ready') throw new Error('not ready');
    await q.tasks.claim(task, 'somebody', stamp());
    await q.tasks.deletePayload(task, task.payload ?? (undefined as never));

    // 40 KB as JSON, 30 KB deflated.
    expect(q.units()).toMatchObject({ 'payload.put': 30, 'task.enqueue': 2, 'task.claim': 1, 'payload.delete': 30 });
  });
});
