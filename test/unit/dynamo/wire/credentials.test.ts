/**
 * Credentials and clocks that the service refuses: nothing was applied,
 * and the next attempt is signed with better ones, if there are any.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import type { CredentialSource } from '../../../../shared/dynamo/wire/credentials.ts';
import type { Clock } from '../../../../shared/core/runtime/clock.ts';
import { systemClock } from '../../../../shared/core/runtime/clock.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import type { TestDriver } from '../../../support/drivers.ts';
import { DRIVERS } from '../../../support/drivers.ts';
import type { FaultServer, ReceivedRequest } from '../../../support/fault-server.ts';
import { answer, serviceError, startFaultServer } from '../../../support/fault-server.ts';

const PUT = { TableName: 'table', Item: { pk: 'a', nonce: 'mine' }, ConditionExpression: 'attribute_not_exists(pk)' };
const POLICY = { attemptTimeoutMs: 20_000, budgetMs: 50_000, backoff: { baseMs: 1, capMs: 5 } };

/** A new set each time that it has to be asked again. */
function rotating(): CredentialSource & { asked: number } {
  const source = Object.assign(
    () =>
      Promise.resolve({
        accessKeyId: `AKID${++source.asked}`,
        secretAccessKey: 's',
        sessionToken: `t/${source.asked}+=`,
      }),
    { asked: 0 },
  );
  return source;
}

function keyIn(request: ReceivedRequest | undefined): string | undefined {
  return /Credential=([^/]*)/.exec(request?.header('authorization') ?? '')?.[1];
}

describe.each(DRIVERS)('the %s driver', (_name, open) => {
  let server: FaultServer;
  beforeAll(async () => {
    server = await startFaultServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function writing<T>(
    settings: { readonly credentials?: CredentialSource; readonly clock?: Clock },
    work: (write: () => Promise<unknown>, driver: TestDriver) => Promise<T>,
  ): Promise<T> {
    using driver = open({ endpoint: server.endpoint, ...settings });
    const sender = new Sender({ driver, runtime: systemRuntime, policy: POLICY });
    return await work(() => sender.write({ verb: 'lock.put', kind: 'put', input: PUT }, 'mine'), driver);
  }

  test.each(['ExpiredTokenException', 'ExpiredToken', 'UnrecognizedClientException', 'InvalidClientTokenId'])(
    'asks for other credentials after %s, and the next attempt is signed with them',
    async (type) => {
      const from = server.received.length;
      const credentials = rotating();
      server.behave(serviceError(type), answer());

      const result = await writing({ credentials }, (write) => write());

      expect(result).toMatchObject({ kind: 'applied', late: false });
      expect(server.received.slice(from).map(keyIn)).toEqual(['AKID1', 'AKID2']);
      expect(server.received.at(-1)?.header('x-amz-security-token')).toBe('t/2+=');
    },
  );

  test('requests new credentials once for all requests that were refused together', async () => {
    const credentials = rotating();
    const refused = serviceError('ExpiredTokenException');
    server.behave((socket, request) => {
      (keyIn(request) === 'AKID1' ? refused : answer())(socket, request);
    });

    await writing({ credentials }, (write) => Promise.all(Array.from({ length: 8 }, () => write())));

    expect(credentials.asked).toBe(2);
  });

  test('requests new credentials each time that they expire', async () => {
    let current = 1;
    const credentials: CredentialSource = (options) =>
      Promise.resolve({
        accessKeyId: `AKID${options?.forceRefresh === true ? ++current : current}`,
        secretAccessKey: 's',
      });

    await writing({ credentials }, async (write) => {
      for (const expired of [1, 2, 3]) {
        server.behave(serviceError('ExpiredTokenException'), answer());
        expect(await write()).toMatchObject({ kind: 'applied' });
        expect(keyIn(server.received.at(-1))).toBe(`AKID${expired + 1}`);
      }
    });
  });

  test('ends refused if there are no other credentials', async () => {
    const credentials: CredentialSource = () => Promise.resolve({ accessKeyId: 'AKIDONLY', secretAccessKey: 's' });
    server.behave(serviceError('ExpiredTokenException', { message: 'The security token is expired' }));

    await expect(writing({ credentials }, (write) => write())).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringContaining('ExpiredTokenException') as string,
    });
  });

  test.each([
    ['fail', () => Promise.reject(new Error('the token service is away'))],
    ['hang', () => Promise.withResolvers<never>().promise],
  ])('was not applied where those who give credentials %s', async (_what, refresh) => {
    const attempt = new AbortController();
    let calls = 0;
    const credentials: CredentialSource = (options) => {
      if (options?.forceRefresh !== true && calls++ === 0)
        return Promise.resolve({ accessKeyId: 'AKIDONLY', secretAccessKey: 's' });
      setImmediate(() => {
        attempt.abort();
      });
      return refresh();
    };
    server.behave(serviceError('ExpiredTokenException'));

    await writing({ credentials }, async (_, driver) => {
      const attempted = driver.attempt('put', PUT, attempt.signal);
      await expect(attempted).rejects.toMatchObject({ kind: 'unverified', applied: 'no' });
    });
  });

  test.each([
    ['throw', () => Promise.reject(new Error('no'))],
    ['refuse', () => Promise.reject(Object.assign(new Error('no'), { $metadata: { httpStatusCode: 403 } }))],
    ['break', () => Promise.reject(Object.assign(new Error('no'), { $metadata: { httpStatusCode: 500 } }))],
    ['reset', () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNRESET', syscall: 'read' }))],
  ])('never sends a request where those who give credentials %s', async (_what, credentials) => {
    const from = server.received.length;
    server.behave(answer());

    await writing({ credentials }, async (_, driver) => {
      await expect(driver.attempt('put', PUT, AbortSignal.timeout(20_000))).rejects.toMatchObject({ kind: 'unsent' });
    });

    expect(server.received.length).toBe(from);
  });

  /** Refuses like the service: if the date is five minutes or more off. */
  function keepTime(now: () => number): void {
    server.behave((socket, request) => {
      const signedAt = Date.parse(
        (request.header('x-amz-date') ?? '').replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'),
      );
      const isGood = Math.abs(signedAt - now()) < 300_000;
      const message = 'Signature expired: 20261122T000000Z is now earlier than 20261122T000500Z';
      const headers = { date: new Date(now()).toUTCString() };
      (isGood ? answer({ headers }) : serviceError('InvalidSignatureException', { message, date: new Date(now()) }))(
        socket,
        request,
      );
    });
  }

  test.each([-10, 10])('corrects its time where the machine is %i minutes off', async (minutes) => {
    keepTime(() => Date.now() + minutes * 60_000);

    await writing({}, async (write) => {
      const from = server.received.length;
      expect(await write()).toMatchObject({ kind: 'applied', late: false });
      expect(server.received.length - from).toBe(2);
      await write();
      expect(server.received.length - from).toBe(3);
    });
  });

  test('signs a request again that was frozen between signing and sending', async () => {
    const message = 'Signature expired: 20261122T000000Z is now earlier than 20261122T000500Z';
    server.behave(serviceError('InvalidSignatureException', { message, date: new Date() }), answer());

    expect(await writing({}, (write) => write())).toMatchObject({ kind: 'applied' });
  });

  test('takes a signature that is wrong for what it is', async () => {
    const message = 'The request signature we calculated does not match the signature you provided.';
    server.behave(serviceError('InvalidSignatureException', { message, date: new Date() }));

    await expect(writing({}, (write) => write())).rejects.toMatchObject({ name: 'ConfigurationError' });
  });

  test('never says that a write was not applied whose earlier attempt was not answered', async () => {
    const credentials: CredentialSource = () => Promise.resolve({ accessKeyId: 'AKIDONLY', secretAccessKey: 's' });
    server.behave(serviceError('InternalServerError', { status: 500 }), serviceError('ExpiredTokenException'));

    await expect(writing({ credentials }, (write) => write())).rejects.toMatchObject({
      name: 'StoreUnavailableError',
      applied: 'unknown',
    });
  });

  test('says `unverified` of one attempt', async () => {
    server.behave(serviceError('RequestTimeTooSkewed'));

    await writing({ clock: systemClock }, async (_, driver) => {
      const fault = await driver.attempt('put', PUT, AbortSignal.timeout(20_000)).catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(DynamoFault);
      expect(fault).toMatchObject({ kind: 'unverified', code: 'RequestTimeTooSkewed', applied: 'no' });
    });
  });
});
