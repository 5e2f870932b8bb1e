/** Destinations of requests: certain ones match the SDK's result, and all others are left to the SDK. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as sdk from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { placeOf } from '../../../../shared/dynamo/wire/http.ts';
import type { DestinationOptions } from '../../../../shared/dynamo/wire/destination.ts';
import { certainDestination, sdkDestination } from '../../../../shared/dynamo/wire/destination.ts';

const VARIABLES = [
  ...['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_PROFILE', 'AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_DYNAMODB'],
  ...['AWS_USE_FIPS_ENDPOINT', 'AWS_USE_DUALSTACK_ENDPOINT', 'AWS_ACCOUNT_ID', 'AWS_ACCOUNT_ID_ENDPOINT_MODE'],
  ...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'AWS_CREDENTIAL_EXPIRATION'],
];
const KEYS = { AWS_ACCESS_KEY_ID: 'AKIDENV', AWS_SECRET_ACCESS_KEY: 'secret' };

let home: string;

function given(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
}

function certain(options: DestinationOptions = {}): ReturnType<typeof certainDestination> {
  return certainDestination(options, () => process.env);
}

async function bySdk({ endpoint, region }: DestinationOptions = {}): ReturnType<typeof sdkDestination> {
  const client = new sdk.DynamoDBClient({ ...(endpoint && { endpoint }), ...(region && { region }) });
  return sdkDestination(client, sdk);
}

beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'leasehold-home-'));
  for (const name of VARIABLES) vi.stubEnv(name, undefined);
  given({
    AWS_CONFIG_FILE: path.join(home, 'config'),
    AWS_SHARED_CREDENTIALS_FILE: path.join(home, 'credentials'),
    AWS_EC2_METADATA_DISABLED: 'true',
  });
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

describe('a destination that is certain', () => {
  test.each<[string, Record<string, string>, DestinationOptions]>([
    ['a Lambda function', { AWS_REGION: 'eu-west-1', AWS_SESSION_TOKEN: 't/+=' }, {}],
    ['keys that last', { AWS_REGION: 'us-east-1' }, {}],
    ['a region that is given', {}, { region: 'ap-southeast-2' }],
    ['a region that is given beside another', { AWS_REGION: 'us-east-1' }, { region: 'il-central-1' }],
    ['an endpoint of its own', { AWS_REGION: 'us-east-1' }, { endpoint: 'https://vpce-1.example:8443/a b/x' }],
    ['an endpoint with the usual port', { AWS_REGION: 'us-east-1' }, { endpoint: 'http://db.example:80' }],
    ['an address of IPv6', { AWS_REGION: 'us-east-1' }, { endpoint: 'http://[2001:db8::1]:8000/' }],
  ])('is the one that the SDK finds: %s', async (_what, variables, options) => {
    given({ ...KEYS, ...variables });

    const [ours, theirs] = [certain(options), await bySdk(options)];

    const found = await ours?.current();
    const { accountId: _, ...credentials } = (await theirs.credentials()) as { accountId?: string };
    expect({ ...found, credentials: { ...found?.credentials } }).toEqual({
      ...(await theirs.current()),
      credentials: expect.objectContaining({ ...found?.credentials }) as object,
    });
    expect(credentials).toMatchObject({ ...found?.credentials });
  });

  test('sends no request for an emulator on this machine', async () => {
    const local = { region: 'local', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };

    expect(await certain({ endpoint: 'http://127.0.0.1:8000', local })?.current()).toMatchObject({
      place: { isTls: false, hostname: '127.0.0.1', port: 8000, path: '/', host: '127.0.0.1:8000' },
      ...local,
    });
  });

  test.each<[string, Record<string, string>]>([
    ['no keys', { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }],
    ['no region', {}],
    ['only the region that the SDK does not read', { AWS_DEFAULT_REGION: 'eu-west-1' }],
    ['China', { AWS_REGION: 'cn-north-1' }],
    ['a government', { AWS_REGION: 'us-gov-west-1' }],
    ['a region that is none', { AWS_REGION: 'local' }],
    ['a profile', { AWS_REGION: 'eu-west-1', AWS_PROFILE: 'work' }],
    ['another endpoint', { AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL_DYNAMODB: 'http://db.example' }],
    ['another endpoint of all services', { AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: 'http://aws.example' }],
    ['FIPS', { AWS_REGION: 'eu-west-1', AWS_USE_FIPS_ENDPOINT: 'true' }],
    ['dual-stack', { AWS_REGION: 'eu-west-1', AWS_USE_DUALSTACK_ENDPOINT: 'true' }],
    ['an account', { AWS_REGION: 'eu-west-1', AWS_ACCOUNT_ID: '123456789012' }],
    ['keys that expire', { AWS_REGION: 'eu-west-1', AWS_CREDENTIAL_EXPIRATION: '2030-01-01T00:00:00Z' }],
  ])('is not, with %s', (_what, variables) => {
    given({ ...KEYS, ...variables });

    expect(certain()).toBeUndefined();
  });

  test('is not where a file may say otherwise', () => {
    given({ ...KEYS, AWS_REGION: 'eu-west-1' });
    writeFileSync(path.join(home, 'config'), '[default]\nregion = us-east-1\n');

    expect(certain()).toBeUndefined();
  });

  test('keeps the keys that it has read until it is asked to read again', async () => {
    given({ ...KEYS, AWS_REGION: 'eu-west-1' });
    const destination = certain();
    await destination?.current();
    given({ AWS_ACCESS_KEY_ID: 'AKIDNEW' });

    expect(await destination?.current()).toMatchObject({ credentials: { accessKeyId: 'AKIDENV' } });
    expect(await destination?.credentials({ forceRefresh: true })).toMatchObject({ accessKeyId: 'AKIDNEW' });
    expect(await destination?.current()).toMatchObject({ credentials: { accessKeyId: 'AKIDNEW' } });
  });
});

describe('a destination that the SDK finds', () => {
  test.each<[string, Record<string, string>, string]>([
    ['FIPS', { AWS_REGION: 'us-east-1', AWS_USE_FIPS_ENDPOINT: 'true' }, 'dynamodb-fips.us-east-1.amazonaws.com'],
    ['dual-stack', { AWS_REGION: 'us-east-1', AWS_USE_DUALSTACK_ENDPOINT: 'true' }, 'dynamodb.us-east-1.api.aws'],
    ['China', { AWS_REGION: 'cn-north-1' }, 'dynamodb.cn-north-1.amazonaws.com.cn'],
    [
      'an account',
      { AWS_REGION: 'us-east-1', AWS_ACCOUNT_ID: '123456789012' },
      '123456789012.ddb.us-east-1.amazonaws.com',
    ],
    ['a variable', { AWS_REGION: 'us-east-1', AWS_ENDPOINT_URL_DYNAMODB: 'http://db.example:8001' }, 'db.example:8001'],
  ])('heeds %s', async (_what, variables, host) => {
    given({ ...KEYS, ...variables });

    expect(await (await bySdk()).current()).toMatchObject({ place: { host }, region: variables.AWS_REGION });
  });

  test('goes to the host of another account with the credentials of one', async () => {
    let accountId = '111111111111';
    const client = new sdk.DynamoDBClient({
      region: 'us-east-1',
      credentials: () =>
        Promise.resolve({ accessKeyId: 'A', secretAccessKey: 's', accountId, expiration: new Date(0) }),
    });
    const destination = await sdkDestination(client, sdk);
    const first = await destination.current();
    accountId = '222222222222';

    expect([first.place.host, (await destination.current()).place.host]).toEqual([
      '111111111111.ddb.us-east-1.amazonaws.com',
      '222222222222.ddb.us-east-1.amazonaws.com',
    ]);
  });

  test('signs for the region that the endpoint names, and is looked for again after it was not found', async () => {
    let asked = 0;
    const rules = {
      endpointProvider: () => {
        if (++asked === 1) throw new Error('no rules yet');
        const authSchemes = [{ name: 'sigv4', signingName: 'dynamodb', signingRegion: 'eu-central-2', properties: {} }];
        return { url: new URL('https://db.example:8443/at/'), properties: { authSchemes } };
      },
    };
    const credentials = () => Promise.resolve({ accessKeyId: 'A', secretAccessKey: 's' });
    const client = new sdk.DynamoDBClient({ region: 'us-east-1', credentials, ...rules });
    const destination = await sdkDestination(client, sdk);

    await expect(destination.current()).rejects.toMatchObject({ kind: 'rejected', message: 'no rules yet' });
    const found = await destination.current();
    await destination.current();

    expect(found).toMatchObject({
      place: { host: 'db.example:8443', port: 8443, path: '/at/', isTls: true },
      region: 'eu-central-2',
    });
    expect(asked).toBe(2);
  });

  test('is refused without a region, and unsent without credentials', async () => {
    await expect(bySdk()).rejects.toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining('no AWS region is known: set AWS_REGION') as string,
    });
    given({ AWS_REGION: 'eu-west-1' });
    const destination = await bySdk();
    await expect(destination.current()).rejects.toMatchObject({ kind: 'unsent', code: 'CredentialsProviderError' });
  });
});

test.each([
  ['http://127.0.0.1:8000', { isTls: false, hostname: '127.0.0.1', port: 8000, path: '/', host: '127.0.0.1:8000' }],
  ['http://db.example', { isTls: false, hostname: 'db.example', port: 80, path: '/', host: 'db.example' }],
  ['https://db.example', { isTls: true, hostname: 'db.example', port: 443, path: '/', host: 'db.example' }],
  ['https://db.example:443/', { isTls: true, hostname: 'db.example', port: 443, path: '/', host: 'db.example' }],
  ['https://db.example:80/at', { isTls: true, hostname: 'db.example', port: 80, path: '/at/', host: 'db.example:80' }],
  ['http://[::1]:8000/a/b/', { isTls: false, hostname: '::1', port: 8000, path: '/a/b/', host: '[::1]:8000' }],
])('the endpoint %s is reached at %o', (endpoint, place) => {
  expect(placeOf(endpoint)).toEqual(place);
});
