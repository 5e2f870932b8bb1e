/** Features of the edge driver only: its report of a failed `fetch`, its limits, and credentials that an isolate keeps. */
import { crc32 as zlibCrc32 } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import type { FetchDriverPorts } from '../../../../shared/dynamo/wire/fetch-driver.ts';
import { createFetchDriver } from '../../../../shared/dynamo/wire/fetch-driver.ts';
import { KeptCredentials } from '../../../../shared/dynamo/wire/kept-credentials.ts';
import type { TemporaryCredentials } from '../../../../shared/dynamo/wire/kept-credentials.ts';
import { MAX_ANSWER_BYTES } from '../../../../shared/dynamo/wire/answer.ts';
import { bytesOfFetched, crc32 } from '../../../../shared/dynamo/wire/web-body.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { STATIC_CREDENTIALS } from '../../../support/drivers.ts';
import type { FaultServer } from '../../../support/fault-server.ts';
import { answer, serviceError, startFaultServer } from '../../../support/fault-server.ts';

const PUT = { TableName: 'table', Item: { pk: 'a', nonce: 'mine' }, ConditionExpression: 'attribute_not_exists(pk)' };
const never = new AbortController().signal;

function open(ports: Partial<FetchDriverPorts>) {
  return createFetchDriver({
    endpoint: 'http://127.0.0.1:1',
    region: 'eu-west-1',
    credentials: STATIC_CREDENTIALS,
    fetch,
    maxInFlight: 100,
    maxRequests: Infinity,
    runtime: systemRuntime,
    onResponse: () => undefined,
    ...ports,
  });
}

const faultOf = (attempt: Promise<unknown>): Promise<DynamoFault> =>
  attempt.then(
    () => {
      throw new Error('it succeeded');
    },
    (fault: unknown) => fault as DynamoFault,
  );

test('the checksum of an answer is the one that zlib makes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(crc32(bytes)).toBe(zlibCrc32(bytes));
    }),
    { numRuns: 1_000, seed: 20_261_123 },
  );
});

test('the body of an answer is put together from its parts, and given up when it is longer than any answer', async () => {
  const part = new Uint8Array(MAX_ANSWER_BYTES / 4).fill(1);
  const body = (parts: number, onCancel: () => void = () => undefined) => {
    let sent = 0;
    return new Response(
      new ReadableStream({
        pull: (controller) => (sent++ < parts ? controller.enqueue(part) : controller.close()),
        cancel: onCancel,
      }),
    );
  };
  const given = vi.fn<() => void>();

  expect((await bytesOfFetched(body(4))).byteLength).toBe(MAX_ANSWER_BYTES);
  await expect(bytesOfFetched(body(5, given))).rejects.toThrow('the response is longer than');
  expect(given).toHaveBeenCalledOnce();
  expect(await bytesOfFetched(new Response(null))).toEqual(new Uint8Array());
  const texts = new ReadableStream({
    start(controller) {
      for (const text of ['{"a"', '', ':1}']) controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
  expect(new TextDecoder().decode(await bytesOfFetched(new Response(texts)))).toBe('{"a":1}');
});

describe('the fetch driver alone', () => {
  let server: FaultServer;
  beforeAll(async () => {
    server = await startFaultServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('sends no header that only the connection may set, and asks for an answer as it is', async () => {
    server.behave(answer());
    await open({ endpoint: server.endpoint }).attempt('put', PUT, never);

    const request = server.received.at(-1);
    expect(request?.header('accept-encoding')).toBe('identity');
    expect(request?.head.match(/^host:/gim)).toHaveLength(1);
  });

  test('gives up on a fetch that does not heed its signal', async () => {
    const attempt = new AbortController();
    const driver = open({ fetch: () => Promise.withResolvers<Response>().promise });
    const fault = faultOf(driver.attempt('put', PUT, attempt.signal));
    attempt.abort();

    expect(await fault).toMatchObject({ kind: 'unsent' });
    const later = new AbortController();
    const called = Promise.withResolvers<undefined>();
    const deaf = open({
      fetch: () => {
        called.resolve(undefined);
        return Promise.withResolvers<Response>().promise;
      },
    });
    const lateFault = faultOf(deaf.attempt('put', PUT, later.signal));
    await called.promise;
    later.abort();
    expect(await lateFault).toMatchObject({ kind: 'unanswered', code: 'TimeoutError' });
  });

  test('refuses what is beyond the number of requests that its isolate may make, and sends nothing', async () => {
    server.behave(answer());
    const before = server.received.length;
    const driver = open({ endpoint: server.endpoint, maxRequests: 2 });
    await driver.attempt('put', PUT, never);
    await driver.attempt('put', PUT, never);

    const fault = await faultOf(driver.attempt('put', PUT, never));

    expect(fault).toMatchObject({ kind: 'rejected', code: 'RequestLimit', applied: 'no' });
    expect(server.received.length - before).toBe(2);
  });

  test('does not count what was given up before it was sent', async () => {
    server.behave(answer());
    const before = server.received.length;
    const giving = new AbortController();
    // Its time is read when the credentials are there, just before it is signed.
    const now = (): number => {
      giving.abort();
      return systemRuntime.clock.now();
    };
    const runtime = { ...systemRuntime, clock: { ...systemRuntime.clock, now } };
    const driver = open({ endpoint: server.endpoint, maxRequests: 1, runtime });

    expect(await faultOf(driver.attempt('put', PUT, giving.signal))).toMatchObject({ kind: 'unsent' });
    await driver.attempt('put', PUT, never);

    expect(server.received.length - before).toBe(1);
  });

  test("judges the end of credentials by the service's clock, as soon as it is known", async () => {
    const ahead = 60 * 60_000;
    let asked = 0;
    const credentials = (): TemporaryCredentials => ({
      ...STATIC_CREDENTIALS,
      sessionToken: `token-${++asked}`,
      expiration: systemRuntime.clock.now() + ahead / 2,
    });
    const driver = open({ endpoint: server.endpoint, credentials });
    const date = new Date(systemRuntime.clock.now() + ahead);
    server.behave(serviceError('RequestTimeTooSkewed', { date }), answer());

    expect(await faultOf(driver.attempt('put', PUT, never))).toMatchObject({ kind: 'unverified' });
    await driver.attempt('put', PUT, never);

    expect(server.received.slice(-2).map((request) => request.header('x-amz-security-token'))).toEqual([
      'token-1',
      'token-2',
    ]);
  });

  test('signs for the path of an endpoint behind a proxy', async () => {
    server.behave(answer());
    await open({ endpoint: `${server.endpoint}/behind/a proxy` }).attempt('put', PUT, never);

    expect(server.received.at(-1)?.head).toMatch(/^POST \/behind\/a%20proxy\/ HTTP/);
  });
});

describe('credentials of a provider', () => {
  const NOW = Date.parse('2026-11-22T12:00:00Z');
  const MINUTE_MS = 60_000;
  const setOf = (name: string, minutes: number): TemporaryCredentials => ({
    accessKeyId: name,
    secretAccessKey: 's',
    expiration: new Date(NOW + minutes * MINUTE_MS),
  });

  test('are kept for every client of the isolate until five minutes before they end', async () => {
    let [asked, now] = [0, NOW];
    const provider = () => setOf(`key-${++asked}`, 60 * asked);
    const client = () => new KeptCredentials(provider, () => now);

    expect((await client().current()).accessKeyId).toBe('key-1');
    expect((await client().current()).accessKeyId).toBe('key-1');
    now = NOW + 54 * MINUTE_MS;
    expect((await client().current()).accessKeyId).toBe('key-1');
    now = NOW + 56 * MINUTE_MS;
    expect((await client().current()).accessKeyId).toBe('key-2');
    expect(asked).toBe(2);
  });

  test('are asked for once by many requests of one client', async () => {
    let asked = 0;
    const kept = new KeptCredentials(
      () => Promise.resolve(setOf(`key-${++asked}`, 60)),
      () => NOW,
    );
    await Promise.all([kept.current(), kept.current(), kept.current()]);

    expect(asked).toBe(1);
  });
});
