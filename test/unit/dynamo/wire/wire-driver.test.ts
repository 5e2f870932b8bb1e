/** The default driver: request headers, instrumentation and proxies. */
import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ClientRequest } from 'node:http';
import { createServer, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOOPBACK_CERTIFICATE } from '../../../support/certificates.ts';
import { openWireDriver } from '../../../support/drivers.ts';
import type { FaultServer } from '../../../support/fault-server.ts';
import { answer, startFaultServer } from '../../../support/fault-server.ts';

const GET = { TableName: 'table', Key: { pk: 'a' } };
const soon = (): AbortSignal => AbortSignal.timeout(20_000);

describe('the default driver', () => {
  let server: FaultServer;
  beforeAll(async () => {
    server = await startFaultServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('looks for its endpoint again after the search has failed', async () => {
    server.behave(answer());
    using driver = openWireDriver({ endpoint: server.endpoint, failures: 1 });

    await expect(driver.attempt('get', GET, soon())).rejects.toMatchObject({ kind: 'unsent', message: 'no region' });
    expect(await driver.attempt('get', GET, soon())).toEqual({});
  });

  test("lets the SDK send requests that name a table by ARN, because the host is the account's", async () => {
    server.behave(answer());
    const from = server.received.length;
    using driver = openWireDriver({ endpoint: server.endpoint });
    const TableName = 'arn:aws:dynamodb:eu-west-1:123456789012:table/orders';

    await driver.attempt('get', { ...GET, TableName }, soon());
    await driver.attempt('transactWrite', { TransactItems: [{ Delete: { ...GET, TableName } }] }, soon());
    await driver.attempt('batchGet', { RequestItems: { [TableName]: { Keys: [GET.Key] } } }, soon());
    await driver.attempt('get', GET, soon());

    const agents = server.received.slice(from).map((received) => received.header('user-agent')?.slice(0, 10));
    expect(agents).toEqual([...Array<string>(3).fill('aws-sdk-js'), undefined]);
  });

  test('gives a transaction a token, so that a second delivery changes nothing', async () => {
    server.behave(answer());
    const from = server.received.length;
    using driver = openWireDriver({ endpoint: server.endpoint });
    const TransactItems = [{ Put: { TableName: 'table', Item: { pk: 'a' } } }];

    await driver.attempt('transactWrite', { TransactItems }, soon());
    await driver.attempt('transactWrite', { TransactItems, ClientRequestToken: 'mine' }, soon());

    const bodies = server.received.slice(from).map(({ body }) => JSON.parse(body) as { ClientRequestToken: string });
    expect(bodies.map(({ ClientRequestToken }) => ClientRequestToken)).toEqual([
      expect.stringMatching(/^[\da-f-]{36}$/),
      'mine',
    ]);
  });

  test("shows each call to whatever instruments Node's HTTP, on fresh and on used connections", async () => {
    server.behave(answer());
    using driver = openWireDriver({ endpoint: server.endpoint });
    const { host } = new URL(server.endpoint);
    const seen: string[] = [];
    const see = (name: string) => (message: unknown) => {
      const { request: sent } = message as { readonly request: ClientRequest };
      if (`${sent.host}:${host.split(':')[1] ?? ''}` === host) seen.push(`${name} ${sent.method}`);
    };
    const [started, finished] = [see('started'), see('finished')];
    subscribe('http.client.request.start', started);
    subscribe('http.client.response.finish', finished);

    for (let call = 0; call < 3; call++) await driver.attempt('get', GET, soon());
    unsubscribe('http.client.request.start', started);
    unsubscribe('http.client.response.finish', finished);

    expect(seen).toEqual(Array(3).fill(['started POST', 'finished POST']).flat());
  });
});

/** An HTTP proxy: forwards plain requests and opens tunnels for TLS. */
async function startProxy() {
  const passed: string[] = [];
  const sockets = new Set<Socket>();
  const proxy = createServer((incoming, outgoing) => {
    passed.push(`${incoming.method} ${incoming.url}`);
    const { headers, method, url = '' } = incoming;
    const forwarded = request(url, { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 0, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(forwarded);
  });
  proxy.on('connect', ({ url = '' }, socket: Socket) => {
    passed.push(`CONNECT ${url}`);
    const { hostname, port } = new URL(`http://${url}`);
    const far = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      far.pipe(socket).pipe(far);
    });
    for (const one of [far, socket]) sockets.add(one.on('error', () => undefined));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    passed,
    endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      proxy.closeAllConnections();
      proxy.close();
      await once(proxy, 'close');
    },
  };
}

test("uses the environment's proxies where Node does, plain and through a tunnel", async () => {
  await using plain = await startFaultServer();
  await using secure = await startFaultServer(LOOPBACK_CERTIFICATE);
  await using proxy = await startProxy();
  for (const server of [plain, secure]) server.behave(answer());
  const drivers = JSON.stringify(path.resolve(import.meta.dirname, '../../../support/drivers.ts'));
  const program = `const { openWireDriver } = await import(${drivers});
    for (const endpoint of ${JSON.stringify([plain.endpoint, secure.endpoint])}) {
      const driver = openWireDriver({ endpoint });
      for (let call = 0; call < 2; call++)
        await driver.attempt('get', ${JSON.stringify(GET)}, new AbortController().signal);
      driver[Symbol.dispose]();
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: {
      ...process.env,
      NODE_USE_ENV_PROXY: '1',
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      HTTP_PROXY: proxy.endpoint,
      HTTPS_PROXY: proxy.endpoint,
      http_proxy: proxy.endpoint,
      https_proxy: proxy.endpoint,
      NO_PROXY: '',
      no_proxy: '',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = (await once(child, 'close')) as [number];

  expect(code).toBe(0);
  expect([plain.received.length, secure.received.length]).toEqual([2, 2]);
  expect(proxy.passed).toEqual([
    `POST ${plain.endpoint}/`,
    `POST ${plain.endpoint}/`,
    `CONNECT ${new URL(secure.endpoint).host}`,
  ]);
});
