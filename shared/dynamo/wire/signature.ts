/** Signs with Node's crypto, which takes no turn of the event loop. */
import { createHmac, createSecretKey, hash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Scope, Unsigned } from './signing.ts';
import { signingOf } from './signing.ts';

/** Keys of a day, a region and a service: HMAC takes five times as long with bytes as with a key object. */
const KEYS = new Map<string, KeyObject>();
const MAX_KEYS = 4;

/** Returns the headers to send, `host` included. @param now epoch milliseconds */
export function signedHeaders(request: Unsigned, scope: Scope, now: number): Record<string, string> {
  const signing = signingOf(request, scope, now);
  const text = signing.text(sha256(signing.canonical(sha256(request.body))));
  const key = keyFor(scope.credentials.secretAccessKey, signing.scope);
  return signing.signed(createHmac('sha256', key).update(text).digest('hex'));
}

function keyFor(secret: string, scope: string): KeyObject {
  const name = `${scope} ${secret}`;
  const known = KEYS.get(name);
  if (known !== undefined) return known;
  let bytes: Buffer = Buffer.from(`AWS4${secret}`);
  for (const part of scope.split('/')) bytes = createHmac('sha256', bytes).update(part).digest();
  const key = createSecretKey(bytes);
  if (KEYS.size >= MAX_KEYS) KEYS.clear();
  KEYS.set(name, key);
  return key;
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}
