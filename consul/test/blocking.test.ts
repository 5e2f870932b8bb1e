import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import type { MeterReading } from '../../shared/dynamo/engine/meter.ts';
import type { Reply, TestGateway } from './support.ts';
import { GatewayTable, ask, newSession } from './support.ts';

const endpoint = inject('embeddedEndpoint');

// Waits are long enough for a busy machine; a change ends them.
describe.skipIf(endpoint === null)('blocking queries', () => {
  let table: GatewayTable;
  let gateway: TestGateway;
  let other: TestGateway;
  let count = 0;
  let key: string;
  beforeAll(async () => {
    table = await GatewayTable.open(endpoint);
    [gateway, other] = [await table.start(), await table.start()];
  });
  afterAll(() => table.close());
  beforeEach(() => {
    key = `watched-${++count}`;
  });

  const read = (path: string) => ask(gateway, 'GET', path);
  /** Asks from where the caller stands, and makes the change while it waits. */
  async function learns(path: string, from: Reply, change: () => Promise<unknown>, waiter = gateway): Promise<Reply> {
    const answer = ask(waiter, 'GET', `${path}${path.includes('?') ? '&' : '?'}index=${from.index}&wait=30s`);
    const first = await Promise.race([answer, pause(300, undefined)]);
    expect(first, 'answered before anything changed').toBeUndefined();
    await change();
    return answer;
  }
  const put = (name: string, body = 'v') => ask(other, 'PUT', `kv/${name}`, body);

  test.each(['kv/free?', 'kv/free?recurse&'])(
    'beyond the most that may wait, %s is answered with 429',
    async (path) => {
      const busy = await table.start({ waits: { token: 1, address: 9, total: 9 } });
      const first = ask(busy, 'GET', `kv/${key}?index=1&wait=3s`);
      await pause(500);

      const second = await ask(busy, 'GET', `${path}index=1&wait=1s`);

      expect(second).toMatchObject({ status: 429 });
      expect(second.text).toBe(
        'Too many blocking queries wait (1 of one token): end some of them, or ask without index',
      );
      expect((await first).status).toBe(404);
    },
  );

  describe('a blocking query of one key', () => {
    test('learns of its creation, its deletion, and its creation again, with an index that only grows', async () => {
      const absent = await read(`kv/${key}`);
      expect(absent).toMatchObject({ status: 404, index: 1 });
      const created = await learns(`kv/${key}`, absent, () => put(key));
      const deleted = await learns(`kv/${key}`, created, () => ask(other, 'DELETE', `kv/${key}`));
      const again = await learns(`kv/${key}`, deleted, () => put(key));

      expect([created, deleted, again].map(({ status }) => status)).toEqual([200, 404, 200]);
      expect(created.index).toBeGreaterThan(absent.index);
      expect(deleted.index).toBeGreaterThan(created.index);
      expect(again.index).toBeGreaterThan(deleted.index);
    });

    test('returns the same result when its wait times out without a change', async () => {
      await put(key, 'a');
      const before = await read(`kv/${key}`);

      const after = await read(`kv/${key}?index=${before.index}&wait=1s`);

      expect(after).toMatchObject({ text: before.text, index: before.index });
      expect(await read(`kv/none?index=77&wait=1s`)).toMatchObject({ status: 404, index: 77 });
    });
  });

  describe('a blocking query of a prefix', () => {
    test('learns of a creation, a write, an acquire and a deletion, with an index that only grows', async () => {
      const session = await newSession(gateway);
      const path = `kv/${key}/?recurse`;
      const empty = await read(path);
      expect(empty).toMatchObject({ status: 404 });
      const created = await learns(path, empty, () => put(`${key}/a`));
      const second = await learns(path, created, () => put(`${key}/b`));
      const written = await learns(path, second, () => put(`${key}/a`, 'w'));
      const held = await learns(path, written, () => ask(other, 'PUT', `kv/${key}/a?acquire=${session}`));
      const newestGone = await learns(path, held, () => ask(other, 'DELETE', `kv/${key}/a`));
      const allGone = await learns(path, newestGone, () => ask(other, 'DELETE', `kv/${key}/b`));

      const indexes = [empty, created, second, written, held, newestGone, allGone].map(({ index }) => index);
      expect(indexes).toEqual([...new Set(indexes)].sort((one, next) => one - next));
      expect(indexes[0]).toBeGreaterThan(0);
      expect(allGone.status).toBe(404);
    });

    test('an index of one gateway is good at another', async () => {
      await put(`${key}/a`);
      const before = await read(`kv/${key}/?keys`);

      const after = await learns(`kv/${key}/?keys`, before, () => ask(gateway, 'DELETE', `kv/${key}/a`), other);

      expect(after.status).toBe(404);
      expect(after.index).toBeGreaterThan(before.index);
    });

    test('learns that a session has expired that held a key below it', async () => {
      const session = await newSession(gateway, { TTL: '6s', LockDelay: 0, Behavior: 'delete' });
      await ask(gateway, 'PUT', `kv/${key}/a?acquire=${session}`);
      const before = await read(`kv/${key}/?recurse`);

      const after = await learns(`kv/${key}/?recurse`, before, () => Promise.resolve());

      expect(after.status).toBe(404);
    });

    test('does not change while nothing does, renewals and equal writes included', async () => {
      const session = await newSession(gateway);
      await put(`${key}/a`, 'same');
      await ask(gateway, 'PUT', `kv/${key}/b?acquire=${session}`, 'held');
      const { index } = await read(`kv/${key}/?recurse`);

      await put(`${key}/a`, 'same');
      await ask(gateway, 'PUT', `session/renew/${session}`);
      await ask(other, 'PUT', `kv/${key}/b?acquire=${session}`, 'held');
      await put(`${key}x`, 'beside');

      expect((await read(`kv/${key}/?recurse&index=${index}&wait=2s`)).index).toBe(index);
      expect((await read(`kv/${key}/?recurse`)).index).toBe(index);
    });

    test('never goes back for callers that do not wait', async () => {
      let last = 0;
      for (const step of ['a', 'b', '-b', '-a', 'c']) {
        await (step.startsWith('-') ? ask(gateway, 'DELETE', `kv/${key}/${step.slice(1)}`) : put(`${key}/${step}`));
        const { index } = await read(`kv/${key}/?recurse`);
        expect(index).toBeGreaterThan(last);
        last = index;
      }
    });
  });

  test('reports sessions that come and go', async () => {
    const before = await read('session/node/watched');
    await ask(gateway, 'PUT', 'catalog/register', '{"Node":"watched","Address":"x"}');
    let id = '';
    const created = await learns('session/node/watched', before, async () => {
      id = await newSession(other, { Node: 'watched', TTL: '60s' });
    });
    const info = await read(`session/info/${id}`);
    const gone = await learns(`session/info/${id}`, info, () => ask(other, 'PUT', `session/destroy/${id}`));

    expect(created.json).toMatchObject([{ ID: id }]);
    expect(gone.json).toEqual([]);
    expect(gone.index).toBeGreaterThan(info.index);
  });

  test('all who wait for one key share one poll, of at most a read unit a second, that ends with them', async () => {
    const watcher = await table.start();
    const session = await newSession(gateway, { TTL: '60s' });
    await ask(gateway, 'PUT', `kv/${key}?acquire=${session}`, 'v');
    const { index } = await ask(watcher, 'GET', `kv/${key}`);
    const leaving = new AbortController();
    const waiters = Array.from({ length: 40 }, () =>
      fetch(`${watcher.url}/v1/kv/${key}?index=${index}&wait=60s`, { signal: leaving.signal }).catch(() => 'left'),
    );
    // Each of them has read once, as the first request did, before they wait for their shared poll.
    await expect.poll(() => pollsIn(watcher.meter.read())).toBeGreaterThan(0);
    await expect.poll(async () => (await pollsWithin(watcher, 1_500)).others).toBe(0);

    const polls = await pollsWithin(watcher, 5_000);
    leaving.abort();
    expect(await Promise.all(waiters)).toEqual(waiters.map(() => 'left'));
    await pause(1_500);
    const idle = await pollsWithin(watcher, 2_500);

    expect(polls.requests).toBeGreaterThan(0);
    // Half a unit for the row, and half for its holder's session every other time.
    expect(polls.requests * 0.75).toBeLessThanOrEqual(polls.seconds + 0.75);
    // A late one of the forty may still be in its first poll; if each polled for itself, there would be hundreds.
    expect(polls.others).toBeLessThanOrEqual(3);
    expect(idle).toMatchObject({ requests: 0, others: 0 });
  });

  function pollsIn(reading: MeterReading): number {
    return reading.byVerb['lock.getWithSession']?.requests ?? 0;
  }

  async function pollsWithin({ meter }: TestGateway, ms: number) {
    const before = meter.read();
    const begun = performance.now();
    await pause(ms);
    const seconds = (performance.now() - begun) / 1_000;
    const after = meter.read();
    const requests = pollsIn(after) - pollsIn(before);
    return { requests, seconds, others: after.requests - before.requests - requests };
  }

  test('end when the gateway closes', async () => {
    const closing = await table.start();
    await put(key);
    const { index } = await read(`kv/${key}`);
    const answer = ask(closing, 'GET', `kv/${key}?index=${index}&wait=5m`).catch(() => 'cut off');
    await expect.poll(() => pollsIn(closing.meter.read())).toBeGreaterThan(0);

    await closing.close();

    expect(await answer).toBe('cut off');
    expect(await pollsWithin(closing, 2_500)).toMatchObject({ requests: 0, others: 0 });
  });
});
