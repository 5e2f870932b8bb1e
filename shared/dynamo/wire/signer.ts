/**
 * Signature Version 4 for the small requests of DynamoDB, at a tenth of what the SDK's own signer takes.
 *
 * It signs what the SDK signs, byte for byte (`test/unit/dynamo/wire/signer.test.ts` compares the two):
 * the same headers, the same canonical form.
 * What it saves is making objects for every request, and deriving the key again: a key is good for a day, a region and a service.
 * Measured without a network: 0.16 ms of CPU per request with the SDK's signer, 0.02 with this one, of 0.39 in all.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
import { hash } from 'node:crypto';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { Credentials } from './credentials.ts';
import { basicIsoDate, canonicalPath, uriEscaped } from './canonical.ts';
import { SigningKeys } from './signature.ts';

type Signer = Exclude<NonNullable<DynamoDBClientConfig['signer']>, (...args: never[]) => unknown>;
type HttpRequest = Parameters<Signer['sign']>[0];
type SigningOptions = NonNullable<Parameters<Signer['sign']>[1]>;

/** Headers that proxies and agents may change on the way. */
const UNSIGNED = new Set([
  ...['authorization', 'cache-control', 'connection', 'expect', 'from', 'keep-alive', 'max-forwards', 'pragma'],
  ...['referer', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'user-agent', 'x-amzn-trace-id'],
]);
const UNSIGNED_PREFIX = /^(proxy-|sec-)/;

/** @param credentials asked for each request; their provider keeps and refreshes them */
export function createSigner(credentials: () => Promise<Credentials>): Signer {
  const keys = new SigningKeys();
  return {
    async sign(request: HttpRequest, options: SigningOptions = {}) {
      const { signingDate, signingRegion = '', signingService = 'dynamodb' } = options;
      const identity = await credentials();
      if (signingDate === undefined) throw new TypeError('a request is signed for a moment, and the SDK names it');
      const longDate = basicIsoDate(new Date(signingDate).getTime());
      const { headers } = request;
      headers['x-amz-date'] = longDate;
      if (identity.sessionToken !== undefined) headers['x-amz-security-token'] = identity.sessionToken;
      const payloadHash = hash('sha256', (request.body as string | undefined) ?? '');
      headers['x-amz-content-sha256'] ??= payloadHash;
      const { canonical, names } = canonicalRequest(request, payloadHash);
      const place = { region: signingRegion, service: signingService };
      headers.authorization = keys.authorization(identity, place, { longDate, names, canonical });
      return request;
    },
  };
}

function canonicalRequest(
  { method, path, query, headers }: HttpRequest,
  payloadHash: string,
): { readonly canonical: string; readonly names: string } {
  const values = new Map<string, string>();
  for (const [header, value] of Object.entries(headers)) {
    const name = header.toLowerCase();
    if (!UNSIGNED.has(name) && !UNSIGNED_PREFIX.test(name)) values.set(name, value.trim().replace(/\s+/g, ' '));
  }
  const sorted = [...values.keys()].sort();
  const names = sorted.join(';');
  const lines = sorted.map((name) => `${name}:${values.get(name) ?? ''}\n`).join('');
  const canonical = `${method}\n${canonicalPath(path)}\n${canonicalQuery(query)}\n${lines}\n${names}\n${payloadHash}`;
  return { canonical, names };
}

/** DynamoDB has none; an endpoint behind a proxy may. */
function canonicalQuery(query: HttpRequest['query']): string {
  return Object.entries(query ?? {})
    .flatMap(([name, value]) => [value ?? ''].flat().map((one) => `${uriEscaped(name)}=${uriEscaped(one)}`))
    .sort()
    .join('&');
}
