/**
 * The texts of Signature Version 4. Digests are the caller's: Node's crypto, or WebCrypto, which is asynchronous.
 *
 * AWS's own signer brings 140 KB to a bundle. A test compares the results with it, byte for byte.
 */
import { defined } from '../../core/defined.ts';
import type { Credentials } from './credentials.ts';

export interface Unsigned {
  /** Default: POST. */
  readonly method?: 'GET' | 'POST';
  readonly host: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The service as AWS names it, such as `dynamodb`. */
export interface Scope {
  readonly service: string;
  readonly region: string;
  readonly credentials: Credentials;
}

/** The digested texts, in order: the body, the canonical request with the body's hash, and the text with the request's hash. */
export interface Signing {
  readonly scope: string;
  readonly canonical: (bodyHash: string) => string;
  readonly text: (canonicalHash: string) => string;
  /** Returns the headers to send, `host` included. */
  readonly signed: (signature: string) => Record<string, string>;
}

/** Proxies may change it. */
const UNSIGNED = 'x-amzn-trace-id';

/** @param now epoch milliseconds */
export function signingOf(
  { method = 'POST', host, path, query = {}, headers, body: _ }: Unsigned,
  { service, region, credentials: { accessKeyId, sessionToken } }: Scope,
  now: number,
): Signing {
  const longDate = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = `${longDate.slice(0, 8)}/${region}/${service}/aws4_request`;
  const sent = { ...headers, host, 'x-amz-date': longDate, ...defined({ 'x-amz-security-token': sessionToken }) };
  const named = Object.entries(sent)
    .filter(([name]) => name !== UNSIGNED)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  const names = named.map(([name]) => name).join(';');
  const lines = named.map(([name, value]) => `${name}:${value.trim().replace(/\s+/g, ' ')}\n`).join('');
  const parameters = Object.entries(query)
    .map(([name, value]) => `${uriEscaped(name)}=${uriEscaped(value)}`)
    .toSorted()
    .join('&');
  return {
    scope,
    canonical: (bodyHash) => `${method}\n${canonicalPath(path)}\n${parameters}\n${lines}\n${names}\n${bodyHash}`,
    text: (canonicalHash) => `AWS4-HMAC-SHA256\n${longDate}\n${scope}\n${canonicalHash}`,
    signed: (signature) => ({
      ...sent,
      authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
    }),
  };
}

/**
 * DynamoDB's path is `/`. An endpoint behind a proxy may have a longer path, which is signed without its dot segments and escaped once
 * more.
 */
function canonicalPath(path: string): string {
  if (path === '/' || path === '') return '/';
  const segments: string[] = [];
  for (const segment of path.split('/'))
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  const end = segments.length > 0 && path.endsWith('/') ? '/' : '';
  return uriEscaped(`${path.startsWith('/') ? '/' : ''}${segments.join('/')}${end}`).replaceAll('%2F', '/');
}

function uriEscaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
