/**
 * Signature Version 4 with Node's crypto, and its key kept for the day.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
import { createHmac, createSecretKey, hash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { SignedHeaders, WireRequest } from './canonical.ts';
import { ALGORITHM, authorizationOf, basicIsoDate, headersToSign, scopeOf } from './canonical.ts';
import type { Credentials } from './credentials.ts';

/** Signs with the headers that DynamoDB needs and no others. */
export class RequestSigner {
  /** The current day's key, and the one before while clocks disagree about midnight: deriving one costs four hashes. */
  readonly #keys = new Map<string, KeyObject>();
  /** The header has whole seconds, and many requests share one. */
  #date = { second: NaN, text: '' };

  /** The headers to send, `host` included. */
  sign(request: WireRequest, credentials: Credentials, region: string, now: number): SignedHeaders {
    const longDate = this.#textOf(now);
    const scope = scopeOf(region, longDate);
    const { headers, names, canonical } = headersToSign(request, credentials, longDate);
    const text = `${ALGORITHM}\n${longDate}\n${scope}\n${hash('sha256', canonical + hash('sha256', request.body))}`;
    const key = this.#keyFor(credentials.secretAccessKey, scope);
    const signature = createHmac('sha256', key).update(text).digest('hex');
    headers.authorization = authorizationOf(credentials, { scope, names, signature });
    return headers;
  }

  #textOf(now: number): string {
    const second = Math.floor(now / 1_000);
    if (second !== this.#date.second) this.#date = { second, text: basicIsoDate(now) };
    return this.#date.text;
  }

  #keyFor(secret: string, scope: string): KeyObject {
    const name = `${scope} ${secret}`;
    let key = this.#keys.get(name);
    if (key === undefined) {
      if (this.#keys.size >= MAX_KEYS) this.#keys.clear();
      key = deriveKey(secret, scope);
      this.#keys.set(name, key);
    }
    return key;
  }
}

const MAX_KEYS = 4;

function deriveKey(secret: string, scope: string): KeyObject {
  const derived = scope
    .split('/')
    .reduce<Buffer>((key, part) => createHmac('sha256', key).update(part).digest(), Buffer.from(`AWS4${secret}`));
  return createSecretKey(derived);
}
