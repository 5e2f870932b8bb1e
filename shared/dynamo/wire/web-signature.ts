/** Signature Version 4 with WebCrypto, which every edge runtime and browser has; its key is kept for the day. */
import type { SignedHeaders, WireRequest } from './canonical.ts';
import { ALGORITHM, authorizationOf, basicIsoDate, headersToSign, scopeOf } from './canonical.ts';
import type { Credentials } from './credentials.ts';

/** WebCrypto's, under the name that all types of all runtimes give it. */
type WebKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/**
 * Keys of the isolate, not of a client: a client lives as long as one request there.
 * Keys are kept and never promises of them, for a request must not wait for what another one has begun.
 */
const KEYS = new Map<string, WebKey>();
const MAX_KEYS = 4;

/** The headers to send; `host` is among them for the signature, and `fetch` sets it by itself. */
export async function signForWeb(
  request: WireRequest,
  credentials: Credentials,
  region: string,
  now: number,
): Promise<SignedHeaders> {
  const longDate = basicIsoDate(now);
  const scope = scopeOf(region, longDate);
  const { headers, names, canonical } = headersToSign(request, credentials, longDate);
  const [key, bodyHash] = await Promise.all([keyFor(credentials.secretAccessKey, scope), sha256Hex(request.body)]);
  const text = `${ALGORITHM}\n${longDate}\n${scope}\n${await sha256Hex(canonical + bodyHash)}`;
  const signature = hexOf(await crypto.subtle.sign('HMAC', key, bytesOf(text)));
  headers.authorization = authorizationOf(credentials, { scope, names, signature });
  return headers;
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
