/** What becomes of requests that never leave: whoever asked is told so, and what to do. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { clientSettings, createSdkDriver } from '../../../shared/dynamo/sdk-driver.ts';
import { Sender } from '../../../shared/dynamo/send.ts';
import { readSession } from '../../../shared/dynamo/statements/session.ts';
import { systemRuntime as runtime } from '../../../shared/runtime/runtime.ts';

/** The discard port: nobody listens, and the system says so at once. */
const NOBODY = 'http://127.0.0.1:9';
const CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' };
const POLICY = { attemptTimeoutMs: 1_000, budgetMs: 2_000, backoff: { baseMs: 500, capMs: 2_000 } };

function read(config: object): Promise<unknown> {
  const client = new DynamoDBClient({ ...config, ...clientSettings });
  const sender = new Sender({ driver: createSdkDriver(client), runtime, policy: POLICY });
  return sender.read(readSession('leasehold', 'mine'));
}

describe('a request that cannot be sent', () => {
  beforeEach(() => {
    for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
    vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  test('was not applied, where nobody listens', async () => {
    await expect(read({ endpoint: NOBODY, region: 'local', credentials: CREDENTIALS })).rejects.toMatchObject({
      name: 'StoreUnavailableError',
      applied: 'no',
      message: expect.stringMatching(
        /^session\.get of session#mine: gave up after \d+ attempts \(ECONNREFUSED: .*127\.0\.0\.1:9\); nothing was read; is the/,
      ) as string,
    });
  });

  test('was not applied, where there are no credentials', async () => {
    const credentials = (): Promise<never> =>
      Promise.reject(Object.assign(new Error('none found'), { name: 'CredentialsProviderError' }));

    await expect(read({ endpoint: NOBODY, region: 'local', credentials })).rejects.toMatchObject({
      name: 'StoreUnavailableError',
      applied: 'no',
    });
  });

  test('is not tried again without a region', async () => {
    await expect(read({ credentials: CREDENTIALS })).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringContaining('no AWS region is known: set AWS_REGION') as string,
    });
  });
});
