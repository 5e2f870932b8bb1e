/** How connections are shared, kept and given up. */
import dns from 'node:dns';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { LOOPBACK_CERTIFICATE } from '../../../support/certificates.ts';
import type { TestDriver } from '../../../support/drivers.ts';
import { STATIC_CREDENTIALS, openWireDriver } from '../../../support/drivers.ts';
import type { FaultServer } from '../../../support/fault-server.ts';
import { answer, answerBytes, startFaultServer } from '../../../support/fault-server.ts';

const PATIENCE_MS = 20_000;

let server: FaultServer;
let driver: TestDriver;
beforeEach(async () => {
  server = await startFaultServer();
  driver = openWireDriver({ endpoint: server.endpoint });
});
afterEach(async () => {
  driver[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

async function put(text = 'a'): Promise<unknown> {
  try {
    return await driver.attempt(
      'put',
      { TableName: 'table', Item: { pk: 'a', text } },
      AbortSignal.timeout(PATIENCE_MS),
    );
  } catch (fault) {
    if (!(fault instanceof DynamoFault)) throw fault;
    return fault.kind;
  }
}

test.each([
  ['nothing of it', {}, 1],
  ['that it keeps the connection for a minute', { 'keep-alive': 'timeout=60, max=5' }, 1],
  ['that it keeps the connection for ten seconds', { 'keep-alive': 'timeout=10' }, 1],
  ['that it keeps the connection for a second, which a request may cross', { 'keep-alive': 'timeout=1, max=5' }, 2],
  ['that it closes the connection', { connection: 'close' }, 2],
])('sends the next request where the server says %s', async (_what, headers, connections) => {
  server.behave(answer({ headers }));

  expect([await put(), await put()]).toEqual([{}, {}]);
  expect(server.connections).toBe(connections);
});

test('closes a connection with unrequested bytes, and does not treat them as an answer', async () => {
  const sockets: Socket[] = [];
  server.onConnection((socket) => void sockets.push(socket));
  server.behave(answer());
  await put();

  const [socket] = sockets;
  const closed = once(socket!, 'close');
  socket!.write(answerBytes({ body: '{"Attributes":{"pk":{"S":"of another"}}}' }));
  await closed;

  expect(await put()).toEqual({});
  expect(server.connections).toBe(2);
});

test('closes a connection if part of an answered request is unsent', async () => {
  server.onConnection((socket) => {
    socket.once('data', () => {
      socket.pause();
      socket.write(answerBytes({}));
    });
  });
  expect(await put('x'.repeat(30_000_000))).toEqual({});

  server.onConnection(() => undefined);
  server.behave(answer());
  expect(await put()).toEqual({});
  expect(server.connections).toBe(2);
});

test.each([
  ['a line of its own', 'token\r\nx-amz-target: DynamoDB_20120810.DeleteTable'],
  ['a character that no header may have', 'tökén'],
])('sends no header that would hold %s', async (_what, sessionToken) => {
  server.behave(answer());
  using odd = openWireDriver({
    endpoint: server.endpoint,
    credentials: () => Promise.resolve({ ...STATIC_CREDENTIALS, sessionToken }),
  });
  const fault = odd.attempt('get', { TableName: 'table', Key: { pk: 'a' } }, AbortSignal.timeout(PATIENCE_MS));

  await expect(fault).rejects.toMatchObject({ kind: 'unsent', code: 'Unsigned' });
  expect(server.received).toEqual([]);
});

describe.each([
  ['plain', undefined],
  ['TLS', LOOPBACK_CERTIFICATE],
] as const)('over %s', (_protocol, certificate) => {
  /** A server, a driver of it, and the connection between them. */
  async function open() {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    const ended: Promise<unknown>[] = [];
    const other = await startFaultServer(certificate);
    other.onConnection((socket) => void ended.push(once(socket, 'close')));
    return { other, ended, client: openWireDriver({ endpoint: other.endpoint }) };
  }
  const attempt = (client: TestDriver, signal: AbortSignal) =>
    client.attempt('get', { TableName: 'table', Key: { pk: 'a' } }, signal);
  afterEach(() => {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  });

  test('a closed driver closes its idle connections', async () => {
    const { other, ended, client } = await open();
    other.behave(answer());
    await attempt(client, AbortSignal.timeout(PATIENCE_MS));

    client[Symbol.dispose]();

    await Promise.all(ended);
    expect(ended).toHaveLength(1);
    await other[Symbol.asyncDispose]();
  });

  test('an abandoned attempt closes its connection, because the next request would get its answer', async () => {
    const { other, ended, client } = await open();
    const giving = new AbortController();
    other.behave(() => giving.abort());

    await expect(attempt(client, giving.signal)).rejects.toMatchObject({ kind: 'unanswered', code: 'AbortError' });

    await Promise.all(ended);
    expect(ended).toHaveLength(1);
    client[Symbol.dispose]();
    await other[Symbol.asyncDispose]();
  });
});

test('connects to the last known address while the threads that look it up are full', async () => {
  using own = openWireDriver({ endpoint: server.endpoint.replace('127.0.0.1', 'localhost') });
  const send = () => own.attempt('get', { TableName: 'table', Key: { pk: 'a' } }, AbortSignal.timeout(PATIENCE_MS));
  server.behave(answer({ headers: { connection: 'close' } }));
  await send();
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation(() => undefined);

  await send();

  expect(lookup).toHaveBeenCalledOnce();
  expect(server.connections).toBe(2);
  lookup.mockRestore();
});
