import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { VALUE_LIMIT_BYTES } from '../../shared/coordination/lock/lock-record.ts';
import { SOON_TOLD } from '../../test/support/patient.ts';
import type { TestGateway } from './support.ts';
import { GatewayTable, ask, newSession, pairAt } from './support.ts';

const endpoint = inject('embeddedEndpoint');
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe.skipIf(endpoint === null)('/v1/kv', () => {
  let table: GatewayTable;
  let gateway: TestGateway;
  let count = 0;
  let key: string;
  beforeAll(async () => {
    table = await GatewayTable.open(endpoint);
    gateway = await table.start();
  });
  afterAll(() => table.close());
  beforeEach(() => {
    key = `key-${++count}`;
  });

  const put = async (parameters: string, body = '') => (await ask(gateway, 'PUT', `kv/${key}${parameters}`, body)).text;
  const pair = () => pairAt(gateway, key);

  describe('values', () => {
    test('are stored and read, with their flags and indexes', async () => {
      expect(await put('?flags=42', 'hello')).toBe('true');

      const reply = await ask(gateway, 'GET', `kv/${key}`);
      const { ModifyIndex, CreateIndex } = (await pair())!;
      expect(reply.json).toEqual([
        { LockIndex: 0, Key: key, Flags: 42, Value: base64('hello'), CreateIndex, ModifyIndex },
      ]);
      expect(reply.index).toBe(ModifyIndex);
      expect(reply.headers.get('x-consul-knownleader')).toBe('true');
      expect(reply.headers.get('x-consul-lastcontact')).toBe('0');
      expect((await gateway.leasehold.locks.get(key))?.value).toBe('hello');
    });

    test('may be any bytes, none, or as many as a row is meant to hold', async () => {
      const bytes = Uint8Array.from({ length: VALUE_LIMIT_BYTES }, (_, at) => at % 256);
      await ask(gateway, 'PUT', `kv/${key}`, bytes);
      const raw = await fetch(`${gateway.url}/v1/kv/${key}?raw`);

      expect(Buffer.from(await raw.arrayBuffer()).equals(bytes)).toBe(true);
      // A browser that opens it runs nothing.
      expect(Object.fromEntries(raw.headers)).toMatchObject({
        'content-type': 'text/plain',
        'x-content-type-options': 'nosniff',
        'content-security-policy': 'sandbox',
      });
      await put('');
      expect(await pair()).toMatchObject({ Value: null });
      expect((await ask(gateway, 'GET', `kv/${key}?raw`)).text).toBe('');
    });

    test('have flags of 64 bits, exact to the last', async () => {
      await put('?flags=18446744073709551615', 'v');

      expect((await ask(gateway, 'GET', `kv/${key}`)).text).toContain('"Flags":18446744073709551615,');
    });

    test('keep the index if unchanged', async () => {
      await put('?flags=1', 'v');
      const before = await pair();

      expect(await put('?flags=1', 'v')).toBe('true');
      expect(await pair()).toEqual(before);
      await put('?flags=2', 'v');
      expect((await pair())?.ModifyIndex).toBeGreaterThan(before!.ModifyIndex);
    });

    test('are exchanged by check-and-set', async () => {
      expect(await put('?cas=1', 'a')).toBe('false');
      expect(await put('?cas=0', 'a')).toBe('true');
      expect(await put('?cas=0', 'b')).toBe('false');
      const { ModifyIndex, CreateIndex } = (await pair())!;

      expect(await put(`?cas=${ModifyIndex}`, 'b')).toBe('true');
      expect(await put(`?cas=${ModifyIndex}`, 'c')).toBe('false');
      expect(await pair()).toMatchObject({ Value: base64('b'), CreateIndex });
    });

    test('keep keys with odd characters', async () => {
      for (const odd of ['a b', 'ümlaut/😀', '100%', 'q?x', 'a/../b', '#', 'a+b']) {
        await ask(gateway, 'PUT', `kv/odd/${encodeURIComponent(odd)}`, odd);
        expect(await pairAt(gateway, `odd/${encodeURIComponent(odd)}`)).toMatchObject({
          Key: `odd/${odd}`,
          Value: base64(odd),
        });
      }
    });
  });

  describe('deletion', () => {
    test('succeeds for all callers, even without an entry', async () => {
      await put('', 'v');

      expect((await ask(gateway, 'DELETE', `kv/${key}`)).text).toBe('true');
      expect((await ask(gateway, 'DELETE', `kv/${key}`)).text).toBe('true');
      const gone = await ask(gateway, 'GET', `kv/${key}`);
      expect(gone).toMatchObject({ status: 404, text: '' });
      expect(gone.index).toBeGreaterThan(0);
    });

    test('is refused by check-and-set with another index', async () => {
      await put('', 'v');
      const { ModifyIndex } = (await pair())!;

      expect((await ask(gateway, 'DELETE', `kv/${key}?cas=${ModifyIndex + 1}`)).text).toBe('false');
      expect((await ask(gateway, 'DELETE', `kv/${key}?cas=${ModifyIndex}`)).text).toBe('true');
      expect((await ask(gateway, 'DELETE', `kv/${key}?cas=${ModifyIndex}`)).text).toBe('true');
    });

    test('removes everything below a prefix, held or not, and nothing else', async () => {
      const session = await newSession(gateway);
      for (const name of ['a', 'b/c', 'b/d']) await ask(gateway, 'PUT', `kv/${key}/${name}`, 'v');
      await ask(gateway, 'PUT', `kv/${key}/held?acquire=${session}`, 'v');
      await ask(gateway, 'PUT', `kv/${key}x`, 'v');

      expect((await ask(gateway, 'DELETE', `kv/${key}/?recurse`)).text).toBe('true');

      expect((await ask(gateway, 'GET', `kv/${key}?keys`)).json).toEqual([`${key}x`]);
    });

    test("ends a held key's tenure without a lock-delay", async () => {
      const [one, two] = [await newSession(gateway), await newSession(gateway)];
      await put(`?acquire=${one}`, 'v');

      await ask(gateway, 'DELETE', `kv/${key}`);

      expect(await put(`?release=${one}`)).toBe('false');
      expect(await put(`?acquire=${two}`, 'w')).toBe('true');
      expect(await pair()).toMatchObject({ Session: two, LockIndex: 1 });
    });

    test('tells a holder of this library', async () => {
      await using session = await gateway.leasehold.session(SOON_TOLD);
      const lock = await session.lock(key);

      await ask(gateway, 'DELETE', `kv/${key}`);

      await expect.poll(() => lock.signal.aborted).toBe(true);
      session.ensureTrusted();
    });
  });

  describe('locks', () => {
    test('have one session at a time, and name it', async () => {
      const [one, two] = [await newSession(gateway), await newSession(gateway)];

      expect(await put(`?acquire=${one}&flags=7`, 'one')).toBe('true');
      expect(await put(`?acquire=${two}`, 'two')).toBe('false');

      expect(await pair()).toMatchObject({ Session: one, LockIndex: 1, Value: base64('one'), Flags: 7 });
    });

    test('acquired again by the same session keep their lock index, and take the new value', async () => {
      const session = await newSession(gateway);
      await put(`?acquire=${session}`, 'a');
      const before = (await pair())!;

      expect(await put(`?acquire=${session}`, 'a')).toBe('true');
      expect(await pair()).toEqual(before);
      expect(await put(`?acquire=${session}`, 'b')).toBe('true');
      expect(await pair()).toMatchObject({ LockIndex: 1, Value: base64('b'), Session: session });
    });

    test('released leave lock index and value, free the key at once, and are released by their holder alone', async () => {
      const [one, two] = [await newSession(gateway), await newSession(gateway)];
      await put(`?acquire=${one}`, 'a');

      expect(await put(`?release=${two}`, 'x')).toBe('false');
      expect(await put(`?release=${one}`, 'left')).toBe('true');
      expect(await put(`?release=${one}`, 'x')).toBe('false');

      expect(await pair()).toMatchObject({ LockIndex: 1, Value: base64('left') });
      expect((await pair())?.Session).toBeUndefined();
      expect(await put(`?acquire=${two}`, 'b')).toBe('true');
      expect(await pair()).toMatchObject({ LockIndex: 2, Session: two });
    });

    test('do not keep others from writing: they are advisory', async () => {
      const session = await newSession(gateway);
      await put(`?acquire=${session}`, 'a');

      expect(await put('', 'b')).toBe('true');
      expect(await pair()).toMatchObject({ Session: session, LockIndex: 1, Value: base64('b') });
    });

    test('count from one again when the entry was deleted, and the fencing token goes on', async () => {
      const session = await newSession(gateway);
      await put(`?acquire=${session}`);
      const token = (await gateway.leasehold.locks.get(key))!.leaseCounter;
      await ask(gateway, 'DELETE', `kv/${key}`);

      await put(`?acquire=${session}`);

      expect(await pair()).toMatchObject({ LockIndex: 1 });
      expect((await gateway.leasehold.locks.get(key))!.leaseCounter).toBe(token + 1);
    });

    test("are the same locks as this library's", async () => {
      const remote = await newSession(gateway, { TTL: '10s', LockDelay: 0 });
      await using session = await gateway.leasehold.session({ name: 'native' });
      await put(`?acquire=${remote}`);

      expect(await session.tryLock(key)).toMatchObject({ kind: 'held', by: { session: remote } });
      await put(`?release=${remote}`);
      await using lock = await session.lock(key, { wait: '5s' });
      expect(await put(`?acquire=${remote}`)).toBe('false');
      expect(await pair()).toMatchObject({ Session: session.id });
      lock.ensureTrusted();
    });

    test('released for a holder of this library inform it, and stay closed as long as it may trust them', async () => {
      await using session = await gateway.leasehold.session(SOON_TOLD);
      const lock = await session.lock(key);
      const other = await newSession(gateway);

      expect(await put(`?release=${session.id}`, 'left')).toBe('true');
      expect(await put(`?acquire=${other}`, 'taken')).toBe('false');

      await expect.poll(() => lock.signal.aborted).toBe(true);
      session.ensureTrusted();
      expect(await pair()).not.toHaveProperty('Session');
    });

    test('are refused without a write if the session has ended', async () => {
      const session = await newSession(gateway);
      await ask(gateway, 'PUT', `session/destroy/${session}`);

      expect(await ask(gateway, 'PUT', `kv/${key}?acquire=${session}`, 'v')).toMatchObject({
        status: 500,
        text: `raft apply failed: invalid session "${session}"`,
      });
      expect(await ask(gateway, 'PUT', `kv/${key}?acquire=`, 'v')).toMatchObject({
        status: 500,
        text: 'raft apply failed: missing session',
      });
      expect(await pair()).toBeUndefined();
    });

    test('return false for an ended session while the key is closed, because Consul checks the lock-delay first', async () => {
      const session = await newSession(gateway);
      await put(`?acquire=${session}`);
      await ask(gateway, 'PUT', `session/destroy/${session}`);

      expect(await put(`?acquire=${session}`)).toBe('false');
    });
  });

  describe('lists', () => {
    test('all keys below a prefix, in order, with values or without', async () => {
      for (const name of ['b/2', 'a', 'b/1', 'c/x/y']) await ask(gateway, 'PUT', `kv/${key}/${name}`, name);

      const { json } = await ask(gateway, 'GET', `kv/${key}/?recurse`);
      expect((json as { Key: string }[]).map(({ Key }) => Key)).toEqual(
        ['a', 'b/1', 'b/2', 'c/x/y'].map((name) => `${key}/${name}`),
      );
      expect((await ask(gateway, 'GET', `kv/${key}/?keys`)).json).toHaveLength(4);
      for (const spelling of ['separator', 'seperator'])
        expect((await ask(gateway, 'GET', `kv/${key}/?keys&${spelling}=/`)).json).toEqual(
          ['a', 'b/', 'c/'].map((name) => `${key}/${name}`),
        );
      expect((await ask(gateway, 'GET', 'kv/?keys')).json).toContain(`${key}/a`);
    });

    test('return 404 if empty, except the list of all keys', async () => {
      expect((await ask(gateway, 'GET', 'kv/none/?recurse')).status).toBe(404);
      expect((await ask(gateway, 'GET', 'kv/none/?keys')).status).toBe(404);
    });
  });
});
