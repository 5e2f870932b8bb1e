/**
 * Signature Version 4 with WebCrypto, which every edge runtime and browser has, for the one form of request that we send.
 *
 * AWS's own signer would add 7 KB to an isolate's bundle, and take twice the time.
 * A test compares the results of both, byte for byte. The key of a day is cached.
 */
import { defined } from '../../core/defined.ts';
import type { Credentials } from './credentials.ts';

/** A request of the edge's driver. */
export interface WireRequest {
  readonly host: string;
  readonly path: string;
  /** `DynamoDB_20120810.GetItem` */
  readonly target: string;
  readonly body: string;
}

/** WebCrypto's interface, under the name that it has in the types of all runtimes. */
type WebKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/**
 * Cached for the isolate and not for a client, because a client there lives only as long as one request.
 * It never stores promises, because a request must not wait for work that another request has started.
 */
const KEYS = new Map<string, WebKey>();
const MAX_KEYS = 4;

/** Returns the headers to send. `host` is among them for the signature, and `fetch` sets it by itself. @param now epoch milliseconds */
export async function signForWeb(
  { host, path, target, body }: WireRequest,
  { accessKeyId, secretAccessKey, sessionToken }: Credentials,
  region: string,
  now: number,
): Promise<Record<string, string>> {
  const longDate = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = `${longDate.slice(0, 8)}/${region}/dynamodb/aws4_request`;
  // Sorted by name, as required for signing.
  const headers: Record<string, string> = {
    'content-type': 'application/x-amz-json-1.0',
    host,
    'x-amz-date': longDate,
    ...defined({ 'x-amz-security-token': sessionToken }),
    'x-amz-target': target,
  };
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const [key, bodyHash] = await Promise.all([keyFor(secretAccessKey, scope), sha256Hex(body)]);
  const canonical = `POST\n${canonicalPath(path)}\n\n${lines.join('')}\n${names}\n${bodyHash}`;
  const text = `AWS4-HMAC-SHA256\n${longDate}\n${scope}\n${await sha256Hex(canonical)}`;
  const signature = hexOf(await crypto.subtle.sign('HMAC', key, bytesOf(text)));
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return headers;
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

async function keyFor(secret: string, scope: string): Promise<WebKey> {
  const name = `${scope} ${secret}`;
  const known = KEYS.get(name);
  if (known !== undefined) return known;
  let bytes = bytesOf(`AWS4${secret}`);
  for (const part of scope.split('/'))
    bytes = new Uint8Array(await crypto.subtle.sign('HMAC', await importKey(bytes), bytesOf(part)));
  const key = await importKey(bytes);
  if (KEYS.size >= MAX_KEYS) KEYS.clear();
  KEYS.set(name, key);
  return key;
}

function importKey(bytes: Uint8Array<ArrayBuffer>): Promise<WebKey> {
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

async function sha256Hex(text: string): Promise<string> {
  return hexOf(await crypto.subtle.digest('SHA-256', bytesOf(text)));
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function hexOf(buffer: ArrayBuffer): string {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
