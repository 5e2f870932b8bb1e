/** Signs with WebCrypto, which every edge runtime and browser has, the one form of request that the edge sends. */
import type { Credentials } from './credentials.ts';
import { signingOf } from './signing.ts';

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
  credentials: Credentials,
  region: string,
  now: number,
): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': target };
  const signing = signingOf({ host, path, headers, body }, { service: 'dynamodb', region, credentials }, now);
  const [key, bodyHash] = await Promise.all([keyFor(credentials.secretAccessKey, signing.scope), sha256Hex(body)]);
  const text = signing.text(await sha256Hex(signing.canonical(bodyHash)));
  return signing.signed(hexOf(await crypto.subtle.sign('HMAC', key, bytesOf(text))));
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
