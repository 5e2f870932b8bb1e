/** A process with more requests than connections: which request goes first, how long the others wait, and their answers. */
import { describe, expect, test } from 'vitest';
import { TABLE, simulatedWorld } from '../../../../bench/table.ts';
import { EdgeLeasehold } from '../../../../shared/client/edge/edge-leasehold.ts';
import { Leasehold } from '../../../../shared/client/leasehold.ts';
import { noSkewGauge } from '../../../../shared/core/lease/skew.ts';
import { MAX_SOCKETS } from '../../../../shared/dynamo/wire/http.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';

const SHARDS = 4;
const EDGE_CONNECTIONS = 6;

type Options = Parameters<typeof simulatedWorld>[0];

function openPlace(options: Options) {
  const world = simulatedWorld(options);
  const { driver, runtime } = world.placeOf('process');
  const sender = new Sender({ driver, runtime });
  const foundation = { sender, gauge: noSkewGauge, runtime };
  const edge = { ...foundation, table: TABLE, queue: undefined, shards: SHARDS, maxClockSkewMs: 1_000 };
  return {
    world,
    runtime,
    sender,
    leasehold: new Leasehold(foundation, { table: TABLE, shards: SHARDS }),
    edge: new EdgeLeasehold(edge),
  };
}

interface Crowd {
  readonly callers: number;
  readonly requestMs: number;
  readonly ttl: '6s' | '10s' | '30s';
  readonly seconds: number;
}

/** Callers who enqueue one after the other while their process holds a lock. */
async function crowd({ callers, requestMs, ttl, seconds }: Crowd) {
  const { world, runtime, leasehold } = openPlace({ connections: MAX_SOCKETS, requestMs });
  const { clock } = runtime;
  return world.run(async () => {
    const session = await leasehold.session({ ttl });
    const lock = await session.lock('held');
    const until = clock.monotonic() + seconds * 1_000;
    let enqueued = 0;
    const errors: unknown[] = [];
    await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        for (let n = 0; clock.monotonic() < until; n++)
          await leasehold.tasks.enqueue('x', { caller, n }).then(
            () => enqueued++,
            (error: unknown) => errors.push(error),
          );
      }),
    );
    return { isKept: !lock.signal.aborted, enqueued, errors };
  });
}

describe('a crowd of one process', () => {
  test.each([
    { callers: 600, requestMs: 300, ttl: '30s', seconds: 45 },
    { callers: 300, requestMs: 250, ttl: '6s', seconds: 20 },
  ] as const)('$callers callers at $requestMs ms keep its lock of $ttl, and use its connections', async (settings) => {
    const { isKept, enqueued, errors } = await crowd(settings);

    expect(errors).toEqual([]);
    expect(isKept).toBe(true);
    const most = (MAX_SOCKETS * settings.seconds * 1_000) / settings.requestMs;
    expect(enqueued).toBeGreaterThanOrEqual(0.8 * most);
  });

  test.each(['30s', '10s'] as const)('of a row that never answers keeps a lock of %s on another row', async (ttl) => {
    const isLost = (input: object): boolean => JSON.stringify(input).includes('dead-row');
    const { world, runtime, leasehold } = openPlace({ connections: MAX_SOCKETS, isLost });
    const { clock } = runtime;
    await world.run(async () => {
      const session = await leasehold.session({ ttl });
      const lock = await session.lock('mine');
      const until = clock.monotonic() + 40_000;
      const ask = async (): Promise<void> => {
        while (clock.monotonic() < until) await leasehold.tasks.enqueue('x', null, { id: 'dead-row' }).catch(() => {});
      };
      await Promise.all(Array.from({ length: 200 }, ask));

      expect(lock.signal.aborted).toBe(false);
      expect(await lock.release()).toBe(true);
    });
  });
});

describe('at the edge', () => {
  test.each([300, 1_000])('150 tasks at %d ms are added, and the lock is kept', async (requestMs) => {
    for (const verb of ['enqueueAll', 'enqueueBatch'] as const) {
      const { world, edge } = openPlace({ connections: EDGE_CONNECTIONS, requestMs });
      await world.run(async () => {
        const session = await edge.session({ ttl: '10s' });
        const lock = await session.lock('held');
        const tasks = Array.from({ length: 150 }, (_, n) => spawn('x', { n }, { id: `t${n}` }));

        if (verb === 'enqueueAll') expect(await edge.tasks.enqueueAll(tasks)).toHaveLength(150);
        else expect(await edge.tasks.enqueueBatch(tasks, { id: 'b' })).toMatchObject({ created: true });

        expect(lock.signal.aborted).toBe(false);
      });
    }
  });
});

describe('the wait for a connection', () => {
  test('ends after 20 s, as its error says', async () => {
    const { world, runtime, leasehold } = openPlace({ connections: 2, requestMs: 1_000 });
    await world.run(async () => {
      const startedAt = runtime.clock.monotonic();
      const calls = Array.from({ length: 30 }, (_, n) => leasehold.tasks.enqueue('x', null, { id: `t${n}` }));
      const results = await Promise.allSettled(calls);

      const [first] = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
      expect(first).toMatchObject({ name: 'StoreUnavailableError', applied: 'no' });
      expect(first?.message).toMatch(
        /^task\.enqueue of task#default#t\d+: all 2 connections were in use for 20000 ms, and \d+ more requests wait for one; nothing was sent; do less at once/,
      );
      expect(runtime.clock.monotonic() - startedAt).toBeLessThan(22_000);
    });
  });

  test('ends when the sender is closed, and nothing is sent', async () => {
    const { world, sender, leasehold } = openPlace({ connections: 2, requestMs: 1_000 });
    await world.run(async () => {
      const calls = ['a', 'b', 'c'].map((id) => leasehold.tasks.enqueue('x', null, { id }));
      const results = Promise.allSettled(calls);
      sender.close();

      expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    });
  });
});
