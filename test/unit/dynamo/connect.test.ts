import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { connectDynamo, isLoopbackHost } from '../../../shared/dynamo/connect.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';

describe('isLoopbackHost', () => {
  test.each(['localhost', '127.0.0.1', '127.255.0.9', '::1'])('takes %s', (host) => {
    expect(isLoopbackHost(host)).toBe(true);
  });

  test.each([
    '127.example.com',
    '127.0.0.1.example.com',
    '127.',
    '10.0.0.1',
    '0.0.0.0',
    '::',
    'localhost.example.com',
    '',
  ])('does not take %j', (host) => {
    expect(isLoopbackHost(host)).toBe(false);
  });
});

describe('connectDynamo', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  /** Which credentials a client for the endpoint signs with, on a machine that has some. */
  async function accessKeyFor(endpoint: string): Promise<string> {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'mine');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    const { openClient } = connectDynamo({ endpoint, region: 'eu-central-1' }, systemRuntime);
    const client = await openClient();
    const { accessKeyId } = await client.config.credentials();
    client.destroy();
    return accessKeyId;
  }

  test.each(['http://127.0.0.1:8000', 'http://localhost:8000', 'http://[::1]:8000', 'http://127.1:8000'])(
    'keeps real credentials from an emulator at %s',
    async (endpoint) => {
      expect(await accessKeyFor(endpoint)).toBe('local');
    },
  );

  test.each(['http://127.example.com:8000', 'https://dynamodb.eu-central-1.amazonaws.com'])(
    'signs with the real ones for %s',
    async (endpoint) => {
      expect(await accessKeyFor(endpoint)).toBe('mine');
    },
  );

  test('says to an emulator what the settings of its client say', async () => {
    const clientConfig = { region: 'eu-west-1', credentials: { accessKeyId: 'theirs', secretAccessKey: 's' } };
    const connection = connectDynamo({ endpoint: 'http://127.0.0.1:8000', clientConfig }, systemRuntime);
    const { config } = await connection.openClient();

    expect(await config.region()).toBe('eu-west-1');
    expect(await config.credentials()).toMatchObject({ accessKeyId: 'theirs' });
    connection.close();
  });

  test.each([
    { whose: 'its own client of the SDK', isOwn: true },
    { whose: "a user's client", isOwn: false },
  ])('closes $whose: $isOwn', async ({ isOwn }) => {
    const address = { endpoint: 'http://127.0.0.1:8000', region: 'eu-central-1' };
    const connection = connectDynamo(isOwn ? address : { client: new DynamoDBClient(address) }, systemRuntime);
    const destroy = vi.spyOn(await connection.openClient(), 'destroy');

    connection.close();
    await Promise.resolve();

    expect(destroy).toHaveBeenCalledTimes(isOwn ? 1 : 0);
  });
});
