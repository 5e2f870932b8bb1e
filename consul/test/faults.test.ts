/** The fault table of consul/README.md, a test for each line: gateways as processes that are killed, restarted, and two at once. */
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { GatewayTable, ask, newSession, pairAt, startGatewayCommand } from './support.ts';
import type { Reply } from './support.ts';

const endpoint = inject('embeddedEndpoint');
type Gateway = Awaited<ReturnType<typeof startGatewayCommand>>;

describe.skipIf(endpoint === null)('clients of gateways', () => {
  let table: GatewayTable;
  let one: Gateway;
  let two: Gateway;
  let count = 0;
  let key: string;
  beforeAll(async () => {
    table = await GatewayTable.open(endpoint);
    [one, two] = await Promise.all([start(), start()]);
  });
  afterAll(async () => {
    await Promise.all([kill(one), kill(two)]);
    await table.close();
  });
  beforeEach(async () => {
    key = `fault-${++count}`;
    if (hasEnded(one)) one = await start();
  });

  const start = (...argv: readonly string[]): Promise<Gateway> =>
    startGatewayCommand(table.table, '--min-ttl', '1s', '--node', 'laptop', ...argv);
  const hasEnded = ({ command }: Gateway): boolean =>
    command.process.exitCode !== null || command.process.signalCode !== null;
  async function kill(gateway: Gateway): Promise<void> {
    if (hasEnded(gateway)) return;
    gateway.command.process.kill('SIGKILL');
    await gateway.command.ended;
  }
  /** Kills the first gateway, and starts another at its address. */
  async function restart(): Promise<void> {
    const { port } = new URL(one.url);
    await kill(one);
    one = await start('--port', port);
  }
  const write = (gateway: Gateway, query: string, value = 'v') => ask(gateway, 'PUT', `kv/${key}?${query}`, value);
  const isCutOff = (answer: Promise<Reply>): Promise<boolean> =>
    answer.then(
      () => false,
      () => true,
    );
  /** One that waits: it is not answered by what it knows. */
  async function waits(gateway: Gateway, path: string, { index }: Reply): Promise<{ readonly answer: Promise<Reply> }> {
    const answer = ask(gateway, 'GET', `${path}${path.includes('?') ? '&' : '?'}index=${index}&wait=5m`);
    answer.catch(() => undefined);
    // A later question has been answered, so that one has polled once, unless it waits.
    await ask(gateway, 'GET', path);
    return { answer };
  }
  const set = (name: string, value: string, index: number) => {
    const Value = Buffer.from(value).toString('base64');
    return { KV: { Verb: 'cas', Key: `${key}/${name}`, Value, Index: index } };
  };
  const valueAt = async (name: string) => {
    const pair = await pairAt(two, `${key}/${name}`);
    return { value: Buffer.from(pair?.Value ?? '', 'base64').toString(), index: pair?.ModifyIndex ?? 0 };
  };

  describe('when one is killed', () => {
    test('a session lives on, and is renewed through another gateway', async () => {
      const session = await newSession(one, { TTL: '60s' });

      await kill(one);

      await expect(ask(one, 'PUT', `session/renew/${session}`)).rejects.toThrow();
      expect(await ask(two, 'PUT', `session/renew/${session}`)).toMatchObject({ status: 200, json: [{ ID: session }] });
    });

    test('ends a session by its TTL if nothing renews it, and its lock can be acquired', async () => {
      const session = await newSession(one, { TTL: '1s', LockDelay: '0s' });
      const next = await newSession(two, { TTL: '60s' });
      await write(one, `acquire=${session}`);

      await kill(one);

      await expect.poll(async () => (await write(two, `acquire=${next}`)).text, { interval: 250 }).toBe('true');
      expect(await ask(two, 'PUT', `session/renew/${session}`)).toMatchObject({ status: 404 });
    });

    test('a lock stays held, and is released through another gateway', async () => {
      const session = await newSession(one, { TTL: '60s' });
      const next = await newSession(two, { TTL: '60s' });
      await write(one, `acquire=${session}`);

      await kill(one);

      expect((await write(two, `acquire=${next}`)).text).toBe('false');
      // A holder that is unsure whether it has the lock acquires it again: that does not start a second tenure.
      expect((await write(two, `acquire=${session}`)).text).toBe('true');
      expect(await pairAt(two, key)).toMatchObject({ Session: session, LockIndex: 1 });
      expect((await write(two, `release=${session}`)).text).toBe('true');
      expect((await write(two, `acquire=${next}`)).text).toBe('true');
    });

    test('a blocking query is cut off, and asked again elsewhere it misses nothing', async () => {
      const before = await write(one, '').then(() => ask(one, 'GET', `kv/${key}`));
      const { answer } = await waits(one, `kv/${key}`, before);

      await kill(one);
      await write(two, '', 'changed while none was asked');

      expect(await isCutOff(answer)).toBe(true);
      const after = await ask(two, 'GET', `kv/${key}?index=${before.index}&wait=5m`);
      expect(after.index).toBeGreaterThan(before.index);
    });

    test('applies a transaction completely or not at all, and keeps acknowledged ones', async () => {
      let acknowledged = 0;
      const enough = Promise.withResolvers<undefined>();
      const stream = async (): Promise<void> => {
        for (let next = 1; ; next++) {
          const [a, b] = await Promise.all([valueAt('a'), valueAt('b')]);
          const body = JSON.stringify([set('a', String(next), a.index), set('b', String(next), b.index)]);
          const { status } = await ask(one, 'PUT', 'txn', body);
          expect(status).toBe(200);
          acknowledged = next;
          if (next === 5) enough.resolve(undefined);
        }
      };
      const streaming = stream().catch(() => undefined);
      await Promise.race([enough.promise, streaming]);

      await kill(one);
      await streaming;

      const [a, b] = await Promise.all([valueAt('a'), valueAt('b')]);
      expect(a.value).toBe(b.value);
      expect([acknowledged, acknowledged + 1]).toContain(Number(a.value));
    });
  });

  describe('when one is restarted', () => {
    test('sessions and locks are as they were', async () => {
      const session = await newSession(one, { TTL: '60s', Name: 'before' });
      await write(one, `acquire=${session}`);
      const before = await pairAt(one, key);

      await restart();

      expect(await pairAt(one, key)).toEqual(before);
      expect((await ask(one, 'GET', `session/info/${session}`)).json).toMatchObject([{ ID: session, Name: 'before' }]);
      expect((await write(one, `release=${session}`)).text).toBe('true');
    });

    test.each([
      ['a key', () => `kv/${key}`],
      ['a prefix', () => `kv/${key}?recurse`],
    ])('an index of %s from before is good to wait with', async (_what, pathOf) => {
      const path = pathOf();
      await write(one, '');
      const before = await ask(one, 'GET', path);

      await restart();

      const { answer } = await waits(one, path, before);
      await ask(two, 'DELETE', `kv/${key}`);
      const after = await answer;
      expect(after.status).toBe(404);
      expect(after.index).toBeGreaterThan(before.index);
    });
  });

  describe('when there are two', () => {
    test('one acquire in all is granted', async () => {
      const clients = [one, two].flatMap((gateway) => Array.from({ length: 6 }, () => gateway));
      const sessions = await Promise.all(clients.map((gateway) => newSession(gateway, { TTL: '60s' })));

      const answers = await Promise.all(sessions.map((id, at) => write(clients[at] ?? one, `acquire=${id}`)));

      const winners = sessions.filter((_id, at) => answers[at]?.text === 'true');
      expect(winners).toHaveLength(1);
      expect(await pairAt(one, key)).toMatchObject({ Session: winners[0], LockIndex: 1 });
    });
  });
});
