import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ConnectionOptions } from '../../../shared/dynamo/connect.ts';
import { connectDynamo } from '../../../shared/dynamo/connect.ts';
import { ensureSafe } from '../../../shared/dynamo/wire/endpoint.ts';
import { systemRuntime } from '../../../shared/core/runtime/runtime.ts';

describe('an endpoint', () => {
  const refusal = (endpoint: string, given: Parameters<typeof ensureSafe>[1] = {}): string => {
    try {
      ensureSafe(endpoint, given);
      return 'accepted';
    } catch (error) {
      return (error as Error).message;
    }
  };

  test.each([
    ['https://dynamodb.eu-west-1.amazonaws.com', {}],
    ['http://127.0.0.1:8000', {}],
    ['http://localhost:8000', {}],
    ['http://[::1]:8000', {}],
    ['http://db.example:8000', { allowHttp: true }],
    ['http://dynamodb-local:8000', { accessKeyId: 'local' }],
  ])('%s with %o is accepted', (endpoint, given) => {
    expect(refusal(endpoint, given)).toBe('accepted');
  });

  test.each([
    ['http://db.example:8000', {}, /is http: to another machine: .*allowHttp: true \(--allow-http\)/],
    ['http://127.example.com', {}, /is http: to another machine/],
    ['http://db.example', { allowHttp: false, accessKeyId: 'AKIA' }, /is http: to another machine/],
    ['HTTP://db.example', {}, /is http: to another machine/],
    ['ftp://db.example', { allowHttp: true }, /is not a URL such as/],
    ['db.example:8000', { allowHttp: true }, /is not a URL such as/],
    ['https://user:PASSWORD@db.example', { allowHttp: true }, /holds a user or a password/],
    ['https://PASSWORD@db.example', {}, /holds a user or a password/],
    ['https://db.example/?key=PASSWORD', {}, /^endpoint https:\/\/db\.example… has a query or a fragment/],
    ['https://db.example/#PASSWORD', {}, /has a query or a fragment/],
  ])('%s with %o is refused', (endpoint, given, message) => {
    expect(refusal(endpoint, given)).toMatch(message);
    expect(refusal(endpoint, given)).not.toContain('PASSWORD');
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
    const { openClient } = connectDynamo({ endpoint, allowHttp: true, region: 'eu-central-1' }, systemRuntime);
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

  test('the address in the options wins over the settings of the client', async () => {
    const clientConfig = { endpoint: 'http://10.0.0.1:1', region: 'us-east-1', maxAttempts: 5 };
    const address = { endpoint: 'http://10.0.0.2:2', allowHttp: true, region: 'eu-west-1' };
    const connection = connectDynamo({ ...address, clientConfig }, systemRuntime);
    const { config } = await connection.openClient();

    expect(await config.region()).toBe('eu-west-1');
    expect(await config.endpoint?.()).toMatchObject({ hostname: '10.0.0.2', port: 2 });
    expect(await config.maxAttempts()).toBe(1);
    connection.close();
  });

  test('makes one client, and tries again after a failure', async () => {
    let made = 0;
    const configure = (): void => {
      if (++made === 1) throw new Error('no settings yet');
    };
    const clientConfig = { extensions: [{ configure }] };
    const connection = connectDynamo({ endpoint: 'http://127.0.0.1:8000', clientConfig }, systemRuntime);

    await expect(connection.openClient()).rejects.toThrow('no settings yet');
    const client = await connection.openClient();

    expect(await connection.openClient()).toBe(client);
    expect(made).toBe(2);
    connection.close();
  });

  const client = new DynamoDBClient({ region: 'eu-west-1' });
  const KEYS = { AWS_ACCESS_KEY_ID: 'mine', AWS_SECRET_ACCESS_KEY: 'secret', AWS_CONFIG_FILE: '/none' };

  test.each<[string, ConnectionOptions, Readonly<Record<string, string>>, boolean]>([
    ['an emulator', { endpoint: 'http://127.0.0.1:8000' }, {}, false],
    ['a region and keys in the environment', {}, { ...KEYS, AWS_REGION: 'eu-west-1' }, false],
    ['a region in the options', { region: 'eu-west-1' }, KEYS, false],
    ['no region', {}, KEYS, true],
    ['no keys', { region: 'eu-west-1' }, { AWS_CONFIG_FILE: '/none' }, true],
    ["a user's client", { client }, KEYS, true],
    ['settings for a client', { endpoint: 'http://127.0.0.1:8000', clientConfig: {} }, {}, true],
  ])('with %s, needs the SDK or not', (_with, options, variables, isNeeded) => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION', 'AWS_PROFILE'])
      vi.stubEnv(name, variables[name]);
    vi.stubEnv('AWS_CONFIG_FILE', variables.AWS_CONFIG_FILE);

    expect(connectDynamo(options, systemRuntime).isSdkNeeded()).toBe(isNeeded);
  });

  test.each<[ConnectionOptions, string]>([
    [{ endpoint: '127.0.0.1:8000' }, 'endpoint "127.0.0.1:8000" is not a URL such as http://127.0.0.1:8000'],
    [{ endpoint: 'ftp://127.0.0.1' }, 'endpoint "ftp://127.0.0.1" is not a URL such as'],
    [{ client, endpoint: 'http://127.0.0.1:8000' }, 'client and endpoint are mutually exclusive'],
    [{ client, region: 'eu-west-1' }, 'client and region are mutually exclusive'],
    [{ client, clientConfig: {} }, 'client and clientConfig are mutually exclusive'],
    [{ client: {} as never }, 'client must be a DynamoDBClient or a DynamoDBDocumentClient'],
  ])('refuses %o', (options, message) => {
    expect(() => connectDynamo(options, systemRuntime)).toThrow(message);
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
