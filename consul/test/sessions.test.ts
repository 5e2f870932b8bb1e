import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { createSessionStore } from '../../shared/session/row/dynamo-session-store.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { stamp } from '../../test/support/tasks.ts';
import { openMemoryGateway } from './memory-gateway.ts';
import type { KeyPair, TestGateway } from './support.ts';
import { GatewayTable, ask, newSession } from './support.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('/v1/session', () => {
  let table: GatewayTable;
  let gateway: TestGateway;
  let other: TestGateway;
  beforeAll(async () => {
    table = await GatewayTable.open(endpoint);
    [gateway, other] = [await table.start(), await table.start()];
  });
  afterAll(() => table.close());

  const create = (entry: object | string) =>
    ask(gateway, 'PUT', 'session/create', typeof entry === 'string' ? entry : JSON.stringify(entry));
  const info = async (id: string) =>
    (await ask(gateway, 'GET', `session/info/${id}`)).json as Record<string, unknown>[];

  test('creates a session as requested, and shows it on every gateway', async () => {
    const id = await newSession(gateway, { Name: 'web', TTL: '90s', LockDelay: '2s', Behavior: 'delete' });

    const { json, index } = await ask(other, 'GET', `session/info/${id}`);
    expect(json).toEqual([
      {
        ID: id,
        Name: 'web',
        Node: 'gateway',
        LockDelay: 2_000_000_000,
        Behavior: 'delete',
        TTL: '1m30s',
        NodeChecks: ['serfHealth'],
        ServiceChecks: null,
        CreateIndex: (json as KeyPair[])[0]?.CreateIndex,
        ModifyIndex: (json as KeyPair[])[0]?.CreateIndex,
      },
    ]);
    expect(index).toBeGreaterThan(0);
    expect((await ask(other, 'GET', 'session/list')).json).toEqual(expect.arrayContaining(json as []));
    expect((await ask(other, 'GET', 'session/node/gateway')).json).toEqual(expect.arrayContaining(json as []));
    expect((await ask(other, 'GET', 'session/node/elsewhere')).json).toEqual([]);
  });

  test('creates a session without a TTL if there is no body, and never releases it', async () => {
    const id = ((await ask(gateway, 'PUT', 'session/create')).json as { ID: string }).ID;

    expect(await info(id)).toMatchObject([{ TTL: '', LockDelay: 15_000_000_000, Behavior: 'release', Name: '' }]);
    expect((await ask(gateway, 'PUT', `session/renew/${id}`)).json).toMatchObject([{ ID: id, TTL: '' }]);
  });

  test.each([
    [{ LockDelay: 5 }, 5_000_000_000],
    [{ lockdelay: '0s' }, 0],
    [{ LockDelay: 20_000_000_000 }, 20_000_000_000],
    [{ LockDelay: '5m' }, 60_000_000_000],
  ])('takes the lock-delay %j', async (entry, expected) => {
    expect(await info(await newSession(gateway, entry))).toMatchObject([{ LockDelay: expected }]);
  });

  test.each([
    ['no JSON', '{', 400, /^Request decode failed/],
    ['no object', '[1]', 400, /^Request decode failed/],
    ['a name that is none', { Name: 7 }, 400, /^Request decode failed/],
    ['a TTL that is none', { TTL: 'soon' }, 500, /^Session TTL 'soon' invalid/],
    ['too short a TTL', { TTL: '1ms' }, 500, /^Invalid Session TTL '1000000', must be between \[300ms=24h0m0s\]/],
    ['too long a TTL', { TTL: '25h' }, 500, /^Invalid Session TTL/],
    ['another behaviour', { Behavior: 'keep' }, 500, /^Invalid Behavior setting 'keep'/],
    ['a lock-delay that is none', { LockDelay: 'long' }, 400, /^Request decode failed/],
    ['an unregistered node', { Node: 'nowhere' }, 500, /^apply failed: Missing node registration/],
    ['an unregistered check', { Checks: ['disk'] }, 500, /^apply failed: Missing check 'disk' registration/],
  ])('refuses %s', async (_what, entry, status, text) => {
    const reply = await create(entry);

    expect(reply.status).toBe(status);
    expect(reply.text).toMatch(text);
  });

  test("applies Consul's TTL bounds by default", async () => {
    const strict = await table.start({ minTtlMs: 10_000 });

    const reply = await ask(strict, 'PUT', 'session/create', '{"TTL":"9s"}');

    expect(reply.text).toBe("Invalid Session TTL '9000000000', must be between [10s=24h0m0s]");
  });

  test('nothing but renewals keeps it: it expires, and its renewal is a 404', async () => {
    const id = await newSession(gateway, { TTL: '300ms' });
    await pause(600);

    const renewal = await ask(gateway, 'PUT', `session/renew/${id}`);

    expect(renewal.status).toBe(404);
    expect(renewal.text).toBe(`Session id '${id}' not found`);
    expect(await info(id)).toEqual([]);
    expect((await gateway.leasehold.sessions.get(id))?.status).toBe('invalid');
  });

  test('hides a session with a damaged expiry, alone and in lists', async () => {
    const id = 'damaged';
    const { sender } = connectDynamo({ endpoint: table.table.endpoint }, systemRuntime);
    const sessions = createSessionStore(sender, table.table.table);
    const facts = { id, name: '', node: 'gateway', ttlMs: 10_000, lockDelayMs: 0, behaviour: 'release' } as const;
    await sessions.create({ ...facts, ...stamp(), now: systemRuntime.clock.now() + 3_600_000 });

    expect(await info(id)).toEqual([]);
    expect(JSON.stringify((await ask(gateway, 'GET', 'session/list')).json)).not.toContain(id);
    expect(JSON.stringify((await ask(gateway, 'GET', 'session/node/gateway')).json)).not.toContain(id);
  });

  test('is destroyed, as often as it is asked for', async () => {
    const id = await newSession(gateway);

    expect((await ask(gateway, 'PUT', `session/destroy/${id}`)).text).toBe('true');
    expect((await ask(gateway, 'PUT', `session/destroy/${id}`)).text).toBe('true');
    expect((await ask(gateway, 'PUT', 'session/destroy/unheard-of')).text).toBe('true');
    expect(await info(id)).toEqual([]);
  });

  test('names the missing field', async () => {
    expect(await ask(gateway, 'PUT', 'session/destroy/')).toMatchObject({ status: 400, text: 'Missing session' });
    expect(await ask(gateway, 'GET', 'session/info/')).toMatchObject({ status: 400, text: 'Missing session' });
    expect(await ask(gateway, 'GET', 'session/node/')).toMatchObject({ status: 400, text: 'Missing node name' });
    expect(await info('unheard-of')).toEqual([]);
  });

  test('a session of this library is shown, and renewed by its holder alone', async () => {
    await using session = await gateway.leasehold.session({ name: 'native', node: 'elsewhere' });

    expect(await info(session.id)).toMatchObject([{ Name: 'native', Node: 'elsewhere' }]);
    expect(await ask(gateway, 'PUT', `session/renew/${session.id}`)).toMatchObject({ status: 403 });
    session.ensureTrusted();
  });

  describe('the keys of an ended session', () => {
    test('they are released when it ends, and closed for the lock-delay', async () => {
      const memory = openMemoryGateway();
      const [id, next] = [await memory.newSession({ LockDelay: '1s' }), await memory.newSession()];
      const acquire = async (session: string) => (await memory.ask('PUT', `kv/kept?acquire=${session}`, 'v')).text;
      const pair = async () => (JSON.parse((await memory.ask('GET', 'kv/kept')).text) as readonly KeyPair[])[0];
      expect(await acquire(id)).toBe('true');
      const before = await pair();

      await memory.ask('PUT', `session/destroy/${id}`);

      const after = await pair();
      expect(after).toMatchObject({ Value: 'dg==', LockIndex: 1 });
      expect(after?.Session).toBeUndefined();
      expect(after?.ModifyIndex).toBeGreaterThan(before?.ModifyIndex ?? Infinity);
      expect(await acquire(next)).toBe('false');
      // The delay, and the bound on clock differences.
      await memory.world.clock.advance(2_100);
      expect(await acquire(next)).toBe('true');
      expect(await pair()).toMatchObject({ LockIndex: 2, Session: next });
    });

    test.each([
      ['plain', (id: string) => ({ path: `kv/kept?acquire=${id}`, body: 'v' })],
      [
        'in a transaction',
        (id: string) => ({ path: 'txn', body: JSON.stringify([{ KV: { Verb: 'lock', Key: 'kept', Session: id } }]) }),
      ],
    ])(
      'after a crash their lock-delay counts from the end of its TTL, whenever it is looked at: an acquire %s',
      async (_how, request) => {
        const memory = openMemoryGateway();
        const dead = await memory.newSession({ TTL: '10s', LockDelay: '15s' });
        const next = await memory.newSession();
        const acquire = async (id: string): Promise<boolean> => {
          const { path, body } = request(id);
          const { status, text } = await memory.ask('PUT', path, body);
          return status === 200 && text !== 'false';
        };
        expect(await acquire(dead)).toBe(true);

        // It is not read until long after TTL and lock-delay.
        // Then it stays closed for one more heartbeat, a third of its TTL, and the clock bound.
        await memory.world.clock.advance(90_000);
        expect(await acquire(next)).toBe(false);
        await memory.world.clock.advance(4_400);
        expect(await acquire(next)).toBe(true);
      },
    );

    test('deletes them with the behavior delete', async () => {
      const id = await newSession(gateway, { TTL: '300ms', LockDelay: 0, Behavior: 'delete' });
      await ask(gateway, 'PUT', `kv/gone?acquire=${id}`, 'v');
      await pause(600);

      expect((await ask(other, 'GET', 'kv/gone')).status).toBe(404);
      expect((await ask(other, 'GET', 'kv/gone?recurse')).status).toBe(404);
    });
  });

  describe('checks and nodes', () => {
    const report = (verb: string, id: string) => ask(gateway, 'PUT', `agent/check/${verb}/${id}?note=seen`);

    test('a check that goes critical ends what is bound to it', async () => {
      await ask(gateway, 'PUT', 'agent/check/register', '{"Name":"disk","TTL":"30s"}');
      expect((await create({ TTL: '10s', Checks: ['disk'] })).text).toBe(
        "apply failed: Check 'disk' is in critical state",
      );
      await report('pass', 'disk');
      const id = await newSession(gateway, { TTL: '10s', NodeChecks: ['disk'] });
      await report('warn', 'disk');
      expect(await info(id)).toMatchObject([{ NodeChecks: ['disk'] }]);

      expect((await report('fail', 'disk')).status).toBe(200);

      expect(await info(id)).toEqual([]);
      expect((await ask(gateway, 'GET', 'agent/checks')).json).toMatchObject({
        disk: { Status: 'critical', Output: 'seen' },
      });
      expect((await ask(other, 'GET', 'health/state/critical')).json).toMatchObject([
        { Node: 'gateway', CheckID: 'disk' },
      ]);
      await ask(gateway, 'PUT', 'agent/check/update/disk', '{"Status":"passing","Output":"well"}');
      expect((await ask(other, 'GET', 'health/node/gateway')).json).toMatchObject([
        { CheckID: 'serfHealth', Name: 'Serf Health Status', Status: 'passing' },
        { Status: 'passing', Output: 'well' },
      ]);
      expect((await ask(gateway, 'PUT', 'agent/check/deregister/disk')).status).toBe(200);
      expect((await report('pass', 'disk')).status).toBe(404);
    });

    test('a node that is deregistered ends its sessions', async () => {
      await ask(gateway, 'PUT', 'catalog/register', '{"Node":"db-1","Address":"10.1.2.3"}');
      const id = await newSession(gateway, { Node: 'db-1', TTL: '10s' });
      expect(await info(id)).toMatchObject([{ Node: 'db-1', NodeChecks: ['serfHealth'] }]);
      const { json } = await ask(gateway, 'GET', 'catalog/nodes');
      expect(json).toMatchObject([{ Node: 'gateway' }, { Node: 'db-1', Address: '10.1.2.3', Datacenter: 'dc1' }]);

      expect((await ask(other, 'PUT', 'catalog/deregister', '{"Node":"db-1"}')).text).toBe('true');

      expect(await info(id)).toEqual([]);
      expect((await ask(gateway, 'GET', 'catalog/nodes')).json).toHaveLength(1);
    });

    test('ends bound sessions when a check is registered as critical, with any output', async () => {
      const register = (Status: string, Output: string) => {
        const entry = { Node: 'db-2', Address: '10.1.2.4', Check: { CheckID: 'disk', Status, Output } };
        return ask(gateway, 'PUT', 'catalog/register', JSON.stringify(entry));
      };
      await register('passing', '');
      const id = await newSession(gateway, { Node: 'db-2', TTL: '10s', Checks: ['disk'] });

      expect(await register('critical', 'no space left on /data: '.repeat(100))).toMatchObject({ status: 200 });

      expect(await info(id)).toEqual([]);
      expect((await ask(other, 'GET', 'health/node/db-2')).json).toContainEqual(
        expect.objectContaining({ CheckID: 'disk', Output: expect.stringMatching(/^no space left/) as string }),
      );
    });

    test('a node that has failed gets no session, which would be over before it is used', async () => {
      const memory = openMemoryGateway();
      const register = (Status: string) => {
        const entry = { Node: 'db-3', Address: '10.1.2.5', Check: { CheckID: 'serfHealth', Status } };
        return memory.ask('PUT', 'catalog/register', JSON.stringify(entry));
      };
      await register('critical');

      expect(await memory.ask('PUT', 'session/create', '{"Node":"db-3"}')).toMatchObject({
        status: 500,
        text: "apply failed: Check 'serfHealth' is in critical state",
      });

      await register('passing');
      expect(await memory.newSession({ Node: 'db-3' })).toBeTypeOf('string');
    });

    test('refuses what makes no sense', async () => {
      expect(await ask(gateway, 'PUT', 'agent/check/register', '{"Name":"x"}')).toMatchObject({ status: 400 });
      expect(await ask(gateway, 'PUT', 'agent/check/register', '{"TTL":"1s"}')).toMatchObject({ status: 400 });
      expect(await ask(gateway, 'PUT', 'catalog/register', '{"Node":"x"}')).toMatchObject({ status: 400 });
      expect(await ask(gateway, 'PUT', 'catalog/deregister', '{}')).toMatchObject({ status: 400 });
    });
  });

  test('says who it is', async () => {
    expect((await ask(gateway, 'GET', 'status/leader')).json).toMatch(/^\d+\.\d+\.\d+\.\d+:\d+$/);
    expect((await ask(gateway, 'GET', 'agent/self')).json).toMatchObject({
      Config: { NodeName: 'gateway', Datacenter: 'dc1' },
    });
    expect((await ask(gateway, 'GET', 'catalog/datacenters')).json).toEqual(['dc1']);
  });
});
