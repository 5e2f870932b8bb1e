/** No emulator checks signatures, so this compares the signers of Node and of the edge with AWS's signer, byte for byte. */
import { createHash, createHmac } from 'node:crypto';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { Credentials } from '../../../../shared/dynamo/wire/credentials.ts';
import { signedHeaders } from '../../../../shared/dynamo/wire/signature.ts';
import type { Scope, Unsigned } from '../../../../shared/dynamo/wire/signing.ts';
import type { WireRequest } from '../../../../shared/dynamo/wire/web-signature.ts';
import { signForWeb } from '../../../../shared/dynamo/wire/web-signature.ts';

const anyToken = fc.string({ unit: fc.constantFrom(...Array.from('abcXYZ019/+=')), minLength: 1, maxLength: 400 });
const anyCredentials: fc.Arbitrary<Credentials> = fc.record(
  {
    accessKeyId: fc.string({ unit: fc.constantFrom(...Array.from('ABCDEFGH0123')), minLength: 16, maxLength: 20 }),
    secretAccessKey: fc.string({ unit: fc.constantFrom(...Array.from('abcXYZ019/+=')), minLength: 1, maxLength: 40 }),
    sessionToken: anyToken,
  },
  { requiredKeys: ['accessKeyId', 'secretAccessKey'] },
);
const anyRequest: fc.Arbitrary<WireRequest> = fc.record({
  host: fc.constantFrom('dynamodb.eu-west-1.amazonaws.com', '127.0.0.1:8000', 'proxy.example:8443', '[::1]:8000'),
  path: fc.constantFrom('/', '/', '/a/', '/a b/dynamo/', '/a//b/./c/../d/', '/%7Euser/', '/é(!)*/'),
  target: fc.constantFrom('DynamoDB_20120810.GetItem', 'DynamoDB_20120810.TransactWriteItems'),
  body: fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.json()),
});
const anyCase = fc.record({
  request: anyRequest,
  credentials: anyCredentials,
  region: fc.constantFrom('eu-west-1', 'us-east-1', 'local', 'cn-north-1', 'us-gov-west-1'),
  now: fc.integer({ min: 946_684_800_000, max: 4_102_444_800_000 }),
});

/** With the interface that AWS's signer expects. */
class Sha256 {
  readonly #hash;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as Uint8Array);
  }

  update(data: Uint8Array): void {
    this.#hash.update(data);
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    throw new Error('each digest has its own');
  }
}

async function signedByAws(
  { method = 'POST', host, path, query = {}, headers, body }: Unsigned,
  scope: Scope,
  now: number,
): Promise<Record<string, string>> {
  const signer = new SignatureV4({ ...scope, sha256: Sha256, applyChecksum: false });
  const request = { method, protocol: 'https:', hostname: host, path, query, headers: { host, ...headers }, body };
  return (await signer.sign(request, { signingDate: new Date(now) })).headers;
}

const anyUnsigned = fc.record({
  method: fc.constantFrom('GET', 'POST'),
  query: fc.dictionary(fc.constantFrom('Marker', 'MaxItems', 'a b', 'é', "it's"), fc.string({ maxLength: 10 })),
  headers: fc.dictionary(
    fc.constantFrom('content-type', 'x-amz-target', 'x-amzn-trace-id', 'x-amz-invocation-type'),
    fc.constantFrom('application/octet-stream', ' two  spaces ', 'Root=1-2-3'),
  ),
  service: fc.constantFrom('dynamodb', 'lambda', 'sts'),
});

test("signedHeaders signs as AWS's signer does, for 300 random requests", async () => {
  for (const [{ request, credentials, region, now }, { service, ...unsigned }] of fc.sample(
    fc.tuple(anyCase, anyUnsigned),
    { seed: 20_261_128, numRuns: 300 },
  )) {
    const whole: Unsigned = { host: request.host, path: request.path, body: request.body, ...unsigned };
    const scope = { service, region, credentials };

    expect({ whole, headers: signedHeaders(whole, scope, now) }).toEqual({
      whole,
      headers: await signedByAws(whole, scope, now),
    });
  }
});

test("signForWeb signs as AWS's signer does, for 300 random requests", async () => {
  for (const { request, credentials, region, now } of fc.sample(anyCase, { seed: 20_261_125, numRuns: 300 })) {
    const { host, path, target, body } = request;
    const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': target };

    const theirs = await signedByAws({ host, path, headers, body }, { service: 'dynamodb', region, credentials }, now);

    expect({ request, headers: await signForWeb(request, credentials, region, now) }).toEqual({
      request,
      headers: theirs,
    });
  }
});

test('signForWeb keeps the keys that it uses, and not all that it ever used', async () => {
  const made = vi.spyOn(crypto.subtle, 'importKey');
  const keysMadeFor = async (secretAccessKey: string): Promise<number> => {
    made.mockClear();
    const request = { host: 'h', path: '/', target: 'DynamoDB_20120810.GetItem', body: '{}' };
    await signForWeb(request, { accessKeyId: 'A', secretAccessKey }, 'eu-west-1', 1_767_225_600_000);
    return made.mock.calls.length;
  };
  try {
    await keysMadeFor('first');
    expect(await keysMadeFor('first')).toBe(0);
    for (let n = 0; n < 10; n++) await keysMadeFor(`another ${n}`);

    expect(await keysMadeFor('first')).toBeGreaterThan(0);
  } finally {
    made.mockRestore();
  }
});
