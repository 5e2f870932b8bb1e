/** No emulator checks signatures: ours are held to those of the SDK's signer, byte for byte. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Credentials } from '../../shared/dynamo/wire/credentials.ts';
import type { SignedHeaders, WireRequest } from '../../shared/dynamo/wire/canonical.ts';
import { RequestSigner } from '../../shared/dynamo/wire/signature.ts';

type Sdk = Exclude<DynamoDBClient['config']['signer'], undefined>;
type SdkSigner = Awaited<ReturnType<Sdk>>;

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

/** Fails with the first of `count` random requests that the two sign differently. */
export async function expectSameSignatures(count: number, seed: number, sign: Sign = signOnNode()): Promise<void> {
  const signAsSdk = await sdkSigner();
  for (const one of fc.sample(anyCase, { seed, numRuns: count })) {
    const ours = Object.entries(await sign(one.request, one.credentials, one.region, one.now)).sort();
    const theirs = await signAsSdk(one);
    if (JSON.stringify(ours) !== JSON.stringify(theirs)) expect({ ours, one }).toEqual({ ours: theirs, one });
  }
}

type Sign = (...given: Parameters<RequestSigner['sign']>) => SignedHeaders | Promise<SignedHeaders>;

function signOnNode(): Sign {
  const signer = new RequestSigner();
  return (...given) => signer.sign(...given);
}

interface Case {
  readonly request: WireRequest;
  readonly credentials: Credentials;
  readonly region: string;
  readonly now: number;
}

async function sdkSigner(): Promise<(one: Case) => Promise<[string, string][]>> {
  const client = new DynamoDBClient({ region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: 's' } });
  const SignatureV4 = (await client.config.signer()).constructor as new (settings: object) => SdkSigner;
  const { sha256 } = client.config;
  return async ({ request: { host, path, target, body }, credentials, region, now }) => {
    const signer = new SignatureV4({ service: 'dynamodb', applyChecksum: false, credentials, region, sha256 });
    const { hostname, port } = new URL(`http://${host}`);
    const request = {
      method: 'POST',
      protocol: 'https:',
      hostname,
      port: Number(port),
      path,
      query: {},
      body,
      headers: { host, 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': target },
    };
    const { headers } = await signer.sign(request, { signingDate: new Date(now) });
    return Object.entries(headers).sort();
  };
}
