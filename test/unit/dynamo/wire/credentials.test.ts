/** Credentials that the service refuses: the next attempt is signed with other ones. Without any, nothing is sent. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import type { CredentialSource } from '../../../../shared/dynamo/wire/credentials.ts';
import type { Clock } from '../../../../shared/core/runtime/clock.ts';
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
});
