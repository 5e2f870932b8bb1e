/** The `consul` package of npm: sessions, locks, watches and transactions, as its users write them. */
import Consul from 'consul';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { TestGateway } from './support.ts';
import { GatewayTable } from './support.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('the npm client', () => {
  let table: GatewayTable;
  let consul: Consul;
  let other: Consul;
  beforeAll(async () => {
    table = await GatewayTable.open(endpoint);
    [consul, other] = [clientOf(await table.start()), clientOf(await table.start())];
  });
  afterAll(() => table.close());

  const clientOf = ({ url }: TestGateway): Consul => new Consul({ host: '127.0.0.1', port: Number(new URL(url).port) });
  const newSession = async (options: Parameters<Consul['session']['create']>[0] = {}): Promise<string> =>
    (await consul.session.create({ ttl: '10s', ...options })).ID;

  test('creates, shows, lists, renews and destroys sessions', async () => {
    const id = await newSession({ name: 'web', behavior: 'delete', lockdelay: '3s' });

    expect(await other.session.get(id)).toMatchObject({
      ID: id,
      Name: 'web',
      Behavior: 'delete',
      LockDelay: 3e9,
      TTL: '10s',
    });
    expect((await other.session.list()).map(({ ID }) => ID)).toContain(id);
    expect((await other.session.node('gateway')).map(({ ID }) => ID)).toContain(id);
    expect(await consul.session.renew(id)).toMatchObject([{ ID: id }]);
    await consul.session.destroy(id);
    expect(await other.session.get(id)).toBeUndefined();
    await expect(consul.session.renew(id)).rejects.toThrow(/not found/i);
  });

  test('sets, gets, lists and deletes keys', async () => {
    expect(await consul.kv.set('npm/a', 'x')).toBe(true);
    expect(await consul.kv.set({ key: 'npm/b/c', value: 'y', flags: 5 })).toBe(true);

    expect(await other.kv.get('npm/a')).toMatchObject({ Key: 'npm/a', Value: 'x', Flags: 0 });
    expect(await other.kv.keys({ key: 'npm/', separator: '/' })).toEqual(['npm/a', 'npm/b/']);
    expect(await other.kv.get({ key: 'npm/', recurse: true })).toHaveLength(2);
    await consul.kv.del({ key: 'npm/', recurse: true });
    expect(await other.kv.get('npm/a')).toBeUndefined();
  });

  test('locks, and is kept out', async () => {
    const [mine, theirs] = [await newSession(), await newSession()];

    expect(await consul.kv.set({ key: 'lock', value: 'mine', acquire: mine })).toBe(true);
    // This client makes nothing of a `false`.
    expect(await other.kv.set({ key: 'lock', value: 'theirs', acquire: theirs })).toBeUndefined();
    expect(await consul.kv.set({ key: 'lock', value: 'left', release: mine })).toBe(true);
    expect(await other.kv.set({ key: 'lock', value: 'theirs', acquire: theirs })).toBe(true);
    expect(await other.kv.get('lock')).toMatchObject({ Value: 'theirs', LockIndex: 2, Session: theirs });
  });

  test('receives each change of a watched key once', async () => {
    const seen: (string | undefined)[] = [];
    const watch = other.watch({
      method: other.kv.get.bind(other.kv),
      options: { key: 'watched', wait: '30s' },
    });
    const errors: unknown[] = [];
    watch.on('change', (pair?: { readonly Value: string }) => {
      seen.push(pair?.Value);
    });
    watch.on('error', (error) => {
      errors.push(error);
    });
    await expect.poll(() => seen).toEqual([undefined]);

    for (const [at, value] of ['a', 'b'].entries()) {
      await consul.kv.set('watched', value);
      await expect.poll(() => seen.length).toBe(at + 2);
    }
    await consul.kv.del('watched');
    await expect.poll(() => seen.length).toBe(4);
    await pause(1_500);
    watch.end();

    expect(seen).toEqual([undefined, 'a', 'b', undefined]);
    expect(errors).toEqual([]);
  });

  test('transacts', async () => {
    // Its types say something else than its code.
    const operations = [
      { KV: { Verb: 'set', Key: 'npm-txn/a', Value: Buffer.from('1').toString('base64') } },
      { KV: { Verb: 'get', Key: 'npm-txn/a' } },
    ] as unknown as { operations: [] };
    const outcome = await consul.transaction.create(operations);

    expect(outcome).toMatchObject({ Errors: null, Results: [{ KV: { Key: 'npm-txn/a' } }, { KV: { Value: 'MQ==' } }] });
  });

  test('lists the catalog', async () => {
    expect(await consul.status.leader()).toMatch(/:\d+$/);
    expect(await consul.agent.self()).toMatchObject({ Config: { NodeName: 'gateway' } });
    expect(await consul.catalog.node.list()).toMatchObject([{ Node: 'gateway' }]);
    expect(await consul.health.node('gateway')).toMatchObject([{ CheckID: 'serfHealth', Status: 'passing' }]);
  });

  test('registers a check, reports on it, and deregisters it', async () => {
    await consul.agent.check.register({ name: 'npm-check', ttl: '30s' } as Parameters<
      Consul['agent']['check']['register']
    >[0]);
    await consul.agent.check.pass({ id: 'npm-check', note: 'fine' });
    expect(await other.agent.check.list()).toMatchObject({ 'npm-check': { Status: 'passing', Output: 'fine' } });

    const id = await newSession({ checks: ['npm-check'] });
    await consul.agent.check.fail('npm-check');

    expect(await consul.session.get(id)).toBeUndefined();
    await consul.agent.check.deregister('npm-check');
    expect(await other.agent.check.list()).toEqual({});
  });
});
