/** Signs with AWS's own Signature Version 4: the headers that a request needs, and no others. */
import { createHmac, createSecretKey, hash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { SignatureV4 } from '@smithy/signature-v4';
import type { Credentials } from './credentials.ts';

interface Unsigned {
  /** Default: POST. */
  readonly method?: 'GET' | 'POST';
  readonly host: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The service as AWS names it, such as `dynamodb`. */
interface Scope {
  readonly service: string;
  readonly region: string;
  readonly credentials: Credentials;
}

let signer: Promise<{ readonly SignatureV4: typeof SignatureV4 }> | undefined;

/** Loads the signer's ten files, once. Programs that pass their own client, or only define tasks, do not need them. */
export function loadSigner(): Promise<{ readonly SignatureV4: typeof SignatureV4 }> {
  signer ??= import('@smithy/signature-v4');
  return signer;
}

/** Returns the headers to send, `host` included. The signer caches the day's key. @param now epoch milliseconds */
export async function signedHeaders(
  { method = 'POST', host, path, query = {}, headers, body }: Unsigned,
  { service, region, credentials }: Scope,
  now: number,
): Promise<Record<string, string>> {
  const { SignatureV4: Signer } = await loadSigner();
  const signature = new Signer({ service, region, credentials, sha256: Sha256, applyChecksum: false });
  const target = { method, protocol: 'https:', hostname: host, path, query };
  const request = { ...target, headers: { host, ...headers }, body };
  return (await signature.sign(request, { signingDate: new Date(now) })).headers;
}

/** The signer caches the bytes of a day's key, but HMAC takes five times as long with bytes as with a key object. */
const KEYS = new WeakMap<object, KeyObject>();

/** With each request, the signer computes the HMAC of the same credentials to look up the day's key. */
let identity: { readonly secret: string; readonly data: Uint8Array; readonly digest: Uint8Array } | undefined;

function identityOf(secret: string, data: Uint8Array): Uint8Array {
  if (identity?.secret !== secret || Buffer.compare(identity.data, data) !== 0)
    identity = { secret, data, digest: createHmac('sha256', secret).update(data).digest() };
  return identity.digest;
}

/** SHA-256 and its HMAC from Node's crypto, with the interface that the signer expects: each takes one piece of data. */
class Sha256 {
  readonly #key: string | KeyObject | undefined;
  #data: Uint8Array = new Uint8Array();

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#key = typeof secret === 'object' ? (KEYS.get(secret) ?? createSecretKey(secret as Uint8Array)) : secret;
    if (typeof secret === 'object') KEYS.set(secret, this.#key as KeyObject);
  }

  update(data: Uint8Array): void {
    this.#data = data;
  }

  digest(): Promise<Uint8Array> {
    const [key, data] = [this.#key, this.#data];
    if (key === undefined) return Promise.resolve(hash('sha256', data, 'buffer'));
    if (typeof key === 'string') return Promise.resolve(identityOf(key, data));
    return Promise.resolve(createHmac('sha256', key).update(data).digest());
  }

  reset(): void {
    this.#data = new Uint8Array();
  }
}
