import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, test } from 'vitest';
import { createSigner } from '../../../../shared/dynamo/wire/signer.ts';
import type { Credentials } from '../../../../shared/dynamo/wire/credentials.ts';

type Signed = Parameters<ReturnType<typeof createSigner>['sign']>[0];

const PLAIN: Credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const SECONDS = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

/** What the SDK would send, signed by its own signer. */
async function signedBySdk(
  options: { region: string; credentials: Credentials; endpoint?: string },
  text: string,
): Promise<Signed> {
  let sent: Signed | undefined;
  const requestHandler = {
    handle(request: Signed): Promise<never> {
      sent = request;
      return Promise.reject(new Error('enough'));
    },
  };
  const client = new DynamoDBClient({ ...options, maxAttempts: 1, requestHandler: requestHandler as never });
  await client.send(new PutItemCommand({ TableName: 'table', Item: { pk: { S: text } } })).catch(() => undefined);
  if (sent === undefined) throw new Error('nothing was sent');
  return sent;
}

/** The same request as it was before it was signed. */
function unsigned(request: Signed): Signed {
  const headers = { ...request.headers };
  for (const name of ['authorization', 'x-amz-date', 'x-amz-content-sha256', 'x-amz-security-token'])
    Reflect.deleteProperty(headers, name);
  return { ...request, headers };
}

function dateOf(request: Signed): Date {
  return new Date((request.headers['x-amz-date'] ?? '').replace(SECONDS, '$1-$2-$3T$4:$5:$6Z'));
}

describe('our signer', () => {
  test.each([
    ['plain credentials', { region: 'eu-west-1', credentials: PLAIN }, 'text'],
    ['a session token', { region: 'us-east-1', credentials: { ...PLAIN, sessionToken: 'IQoJb3JpZ2lu/+==' } }, 'text'],
    ['text beyond ASCII', { region: 'eu-west-1', credentials: PLAIN }, 'grüße \u0000 𝕏 "quoted"'],
    ['a long body', { region: 'eu-west-1', credentials: PLAIN }, 'x'.repeat(100_000)],
    ['an endpoint with a port', { region: 'local', credentials: PLAIN, endpoint: 'http://127.0.0.1:8000' }, 'text'],
    [
      'an endpoint with a path',
      { region: 'local', credentials: PLAIN, endpoint: 'https://proxy.example/a b/dynamo' },
      'text',
    ],
    [
      'an endpoint with dots in its path',
      { region: 'local', credentials: PLAIN, endpoint: 'https://proxy.example/a//b/./c/..%2f/x/' },
      'text',
    ],
  ])('signs as the SDK signs: %s', async (_what, options, text) => {
    const theirs = await signedBySdk(options, text);
    const signer = createSigner(() => Promise.resolve(options.credentials));
    const signing = { signingDate: dateOf(theirs), signingRegion: options.region, signingService: 'dynamodb' };

    const ours = await signer.sign(unsigned(theirs), signing);

    expect(ours.headers).toEqual(theirs.headers);
  });

  test('signs each request with the credentials of the moment', async () => {
    const later = { ...PLAIN, accessKeyId: 'AKIDLATER', secretAccessKey: 'another' };
    let current = PLAIN;
    const signer = createSigner(() => Promise.resolve(current));
    const theirs = await signedBySdk({ region: 'eu-west-1', credentials: later }, 'text');
    const signing = { signingDate: dateOf(theirs), signingRegion: 'eu-west-1', signingService: 'dynamodb' };
    await signer.sign(unsigned(theirs), signing);
    current = later;

    const ours = await signer.sign(unsigned(theirs), signing);

    expect(ours.headers.authorization).toBe(theirs.headers.authorization);
  });
});
