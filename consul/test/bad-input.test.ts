import { inspect } from 'node:util';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parseTokens } from '../http/tokens.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import type { TestGateway } from './support.ts';
import { GatewayTable, ask, newSession, pairAt } from './support.ts';

const endpoint = inject('embeddedEndpoint');

describe.skipIf(endpoint === null)('bad input', () => {
  let table: GatewayTable;
  let gateway: TestGateway;
  beforeAll(async () => {
    table = await GatewayTable.open(endpoint);
    gateway = await table.start();
    await ask(gateway, 'PUT', 'kv/kept', 'kept');
  });
  afterAll(async () => {
    await table.close();
    // Callers read their own errors; the gateway does not log them.
    expect(gateway.failures).toEqual([]);
  });

  test.each([
    ['GET', 'kv/kept?index=1&wait=soon', 400, 'Invalid wait time'],
    ['GET', 'kv/kept?index=-1', 400, 'Invalid index'],
    ['GET', 'kv/kept?index=x', 400, 'Invalid index'],
    ['GET', 'kv/kept?stale&consistent', 400, /conflicting semantics/],
    ['GET', 'kv/kept?ns=team', 400, /^Invalid query parameter: "ns" - Namespaces are/],
    ['PUT', 'kv/kept?partition=team', 400, /^Invalid query parameter: "partition" - Partitions are/],
    ['PUT', 'session/create?ns=team', 400, /^Invalid query parameter: "ns"/],
    ['PUT', 'txn?ns=team', 400, /^Invalid query parameter: "ns"/],
    ['GET', 'kv/', 400, 'Missing key name'],
    ['PUT', 'kv/', 400, 'Missing key name'],
    ['DELETE', 'kv/', 400, 'Missing key name'],
    ['PUT', 'kv/kept?cas=1&acquire=a', 400, /^Conflicting flags/],
    ['PUT', 'kv/kept?acquire=a&release=a', 400, /^Conflicting flags/],
    ['DELETE', 'kv/kept?recurse&cas=1', 400, /^Conflicting flags/],
    ['PUT', 'kv/kept?cas=-1', 500, /ParseUint/],
    ['PUT', 'kv/kept?flags=1.5', 500, /ParseUint/],
    ['PUT', 'kv/kept?flags=18446744073709551616', 500, /ParseUint/],
    ['DELETE', 'kv/kept?cas=no', 500, /ParseUint/],
    ['PUT', `kv/${'k'.repeat(600)}`, 400, /at most 512/],
    ['GET', `kv/${'k'.repeat(600)}`, 400, /at most 512/],
    ['GET', 'kv/%E0%A4%A', 400, /invalid URL escape/],
    ['POST', 'kv/kept', 405, 'method POST not allowed'],
    ['GET', 'session/create', 405, 'method GET not allowed'],
    ['POST', 'txn', 405, 'method POST not allowed'],
    ['GET', 'nothing/of/the/kind', 404, /^Invalid URL path/],
    ['GET', 'kv/kept?dc=elsewhere', 500, 'No path to datacenter'],
    ['PUT', 'kv/kept?dc=elsewhere', 500, 'No path to datacenter'],
    ['PUT', 'session/create?datacenter=elsewhere', 500, 'No path to datacenter'],
    ['PUT', 'txn?dc=elsewhere', 500, 'No path to datacenter'],
  ])('%s %s is answered with %i', async (method, path, status, text) => {
    const reply = await ask(gateway, method, path);

    expect(reply.status).toBe(status);
    if (typeof text === 'string') expect(reply.text).toBe(text);
    else expect(reply.text).toMatch(text);
    expect(await pairAt(gateway, 'kept')).toMatchObject({ Value: Buffer.from('kept').toString('base64') });
  });

  test('a negative wait is the usual one, cut to what the gateway allows', async () => {
    const hasty = await table.start({ maxWaitMs: 500 });
    const { index } = await ask(hasty, 'GET', 'kv/kept');

    expect((await ask(hasty, 'GET', `kv/kept?index=${index}&wait=-10s`)).status).toBe(200);
  });

  test('names the allowed methods', async () => {
    expect((await ask(gateway, 'POST', 'kv/kept')).headers.get('allow')).toBe('OPTIONS,GET,PUT,DELETE');
    expect(await ask(gateway, 'OPTIONS', 'kv/kept')).toMatchObject({ status: 200 });
  });

  test('refuses a too large value with a 413, declared or not, and keeps the existing one', async () => {
    const large = new Uint8Array(600 * 1024);
    const reply = await ask(gateway, 'PUT', 'kv/kept', large);
    const streamed = await fetch(`${gateway.url}/v1/kv/kept`, {
      method: 'PUT',
      body: new Blob([large]).stream(),
      duplex: 'half',
    });

    expect(reply).toMatchObject({ status: 413, text: 'Request body(614400 bytes) too large, max size: 65536 bytes.' });
    expect(streamed.status).toBe(413);
    expect(await pairAt(gateway, 'kept')).toMatchObject({ Value: Buffer.from('kept').toString('base64') });
  });

  test('stops reading a far too large value, and closes the connection', async () => {
    const reply = await ask(gateway, 'PUT', 'kv/kept', new Uint8Array(9 * 1024 * 1024));

    expect(reply.status).toBe(413);
    expect(reply.headers.get('connection')).toBe('close');
    expect(await pairAt(gateway, 'kept')).toMatchObject({ Value: Buffer.from('kept').toString('base64') });
  });

  test.each(['kv/kept?dc=dc1', 'kv/kept?dc=', 'agent/self?dc=elsewhere', 'catalog/datacenters?dc=elsewhere'])(
    '%s is answered here',
    async (path) => {
      expect(await ask(gateway, 'GET', path)).toMatchObject({ status: 200 });
    },
  );

  test.each([
    ['agent/services', {}],
    ['agent/members', [{ Name: 'gateway', Status: 1 }]],
    ['catalog/services', {}],
    ['catalog/service/web', []],
    ['catalog/node/gateway', { Node: { Node: 'gateway' }, Services: {} }],
    ['catalog/node/unknown', null],
    ['event/list', []],
    ['health/service/web', []],
  ])('%s, where there is nothing, is %j', async (path, json) => {
    const reply = await ask(gateway, 'GET', path);

    expect(reply).toMatchObject({ status: 200, json });
    if (path !== 'agent/members') expect(reply.index).toBeGreaterThan(0);
  });

  test('a query for what there is none of waits for its time', async () => {
    const hasty = await table.start({ maxWaitMs: 300 });
    const { index } = await ask(hasty, 'GET', 'catalog/services');

    const timed = performance.now();
    expect(await ask(hasty, 'GET', `catalog/services?index=${index}`)).toMatchObject({ status: 200, index });
    expect(performance.now() - timed).toBeGreaterThan(250);
  });

  test('keeps other connections open after a request that is not HTTP', async () => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write('PUT /v1/kv/kept HTTP/1.1\r\nContent-Length: abc\r\n\r\n\0\0');
    await once(socket, 'close');

    expect(await pairAt(gateway, 'kept')).toBeDefined();
  });

  test('an upload that breaks off stores nothing', async () => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.write('PUT /v1/kv/broken HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nonly this');
    await once(socket, 'connect');
    socket.destroy();
    await once(socket, 'close');
    await ask(gateway, 'GET', 'status/leader');

    expect(await pairAt(gateway, 'broken')).toBeUndefined();
  });

  describe('tokens', () => {
    const secret = (name: string) => `secret-of-${name}-0123456789`;
    const rules = parseTokens(
      JSON.stringify({
        tokens: [
          { name: 'all', secret: secret('all'), keys: { '': 'write' }, sessions: 'write', nodes: 'write' },
          {
            name: 'billing',
            secret: secret('billing'),
            keys: { '': 'read', 'billing/': 'write', 'billing/sealed': 'deny' },
            sessions: 'write',
          },
          { name: 'none', secret: secret('none'), keys: { '': 'deny' }, sessions: 'write' },
          { name: 'anyone', keys: { 'public/': 'read' } },
        ],
      }),
      'here',
    );
    let guarded: TestGateway;
    const by = (name: string) => ({ 'X-Consul-Token': secret(name) });
    const as = (name: string, method: string, path: string, body = 'v') =>
      ask(guarded, method, path, method === 'GET' ? undefined : body, by(name));
    beforeAll(async () => {
      guarded = await table.start({}, rules);
      for (const key of ['public/a', 'billing/a', 'billing/sealed', 'other']) await as('all', 'PUT', `kv/${key}`);
    });

    test('decide over keys by their longest prefix', async () => {
      expect(await as('billing', 'PUT', 'kv/billing/b')).toMatchObject({ status: 200 });
      expect(await as('billing', 'PUT', 'kv/other')).toMatchObject({ status: 403, text: 'Permission denied' });
      expect(await as('billing', 'GET', 'kv/other')).toMatchObject({ status: 200 });
      expect(await as('billing', 'GET', 'kv/billing/sealed')).toMatchObject({ status: 403 });
      expect((await as('billing', 'GET', 'kv/billing/?keys')).json).toEqual(['billing/a', 'billing/b']);
      expect(await as('billing', 'DELETE', 'kv/billing/?recurse')).toMatchObject({ status: 403 });
    });

    test('decide over sessions, nodes and transactions', async () => {
      expect(await as('billing', 'PUT', 'session/create', '{}')).toMatchObject({ status: 200 });
      expect(await as('billing', 'PUT', 'agent/check/register', '{"Name":"x","TTL":"1s"}')).toMatchObject({
        status: 403,
      });
      const body = JSON.stringify([{ KV: { Verb: 'set', Key: 'billing/t' } }, { KV: { Verb: 'set', Key: 'other' } }]);
      expect(await as('billing', 'PUT', 'txn', body)).toMatchObject({
        status: 409,
        json: { Results: null, Errors: [{ OpIndex: 1, What: 'Permission denied' }] },
      });
      expect(await pairAt(gateway, 'billing/t')).toBeUndefined();
      // This token permits nothing, so the gateway does not even read the invalid body.
      expect(await as('none', 'PUT', 'txn', '[{')).toMatchObject({ status: 403, text: 'Permission denied' });
    });

    test('come in a header, as a bearer, or as a parameter; another is anonymous', async () => {
      const read = (path: string, headers = {}) => ask(guarded, 'GET', path, undefined, headers);
      expect(await read('kv/other', { Authorization: `Bearer ${secret('all')}` })).toMatchObject({ status: 200 });
      expect(await read(`kv/other?token=${secret('all')}`)).toMatchObject({ status: 200 });
      expect(await read('kv/other', { 'X-Consul-Token': 'another' })).toMatchObject({
        status: 403,
        text: 'ACL not found',
      });
      expect(await read('kv/other')).toMatchObject({ status: 403 });
      expect(await read('kv/public/a')).toMatchObject({ status: 200 });
      expect(await read('session/list')).toMatchObject({ status: 403 });
      expect(await newSession(gateway)).toBeTypeOf('string');
    });

    test.each([
      ['no JSON', '{'],
      ['no tokens', '{}'],
      ['a short secret', '{"tokens":[{"name":"a","secret":"short"}]}'],
      ['an unknown level', '{"tokens":[{"name":"a","sessions":"all"}]}'],
      ['an unknown field', '{"tokens":[{"name":"a","session":"write"}]}'],
      ['one secret twice', '{"tokens":[{"name":"a"},{"name":"b"}]}'],
    ])('with %s are refused at the start', (_what, text) => {
      expect(() => parseTokens(text, 'tokens.json')).toThrow(ConfigurationError);
    });

    test.each(['S3CRET-0123456789', '{"tokens":[{"name":"a","secret":S3CRET-0123456789}]}', '"S3CRET-0123456789'])(
      'are not repeated when they are no JSON (%s)',
      (text) => {
        const refusal = thrownBy(() => parseTokens(text, 'tokens.json'));

        expect(refusal).toBeInstanceOf(ConfigurationError);
        expect((refusal as Error).message).toMatch(/^tokens\.json is not JSON/);
        expect(inspect(refusal)).not.toMatch(/S3C/);
      },
    );

    test('are needed to listen beyond loopback', async () => {
      await expect(table.start({ host: '0.0.0.0' })).rejects.toThrow('is not loopback');
      expect(await table.start({ host: '0.0.0.0' }, rules)).toHaveProperty('url');
    });
  });
});

function thrownBy(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}
