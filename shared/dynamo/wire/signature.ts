/**
 * Signature Version 4 with Node's crypto, and its key kept for the day.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
import { createHmac, createSecretKey, hash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { SignedHeaders, SigningScope, WireRequest } from './canonical.ts';
import { ALGORITHM, authorizationOf, basicIsoDate, headersToSign, scopeOf } from './canonical.ts';
import type { Credentials } from './credentials.ts';

/** What is signed beside the scope. */
export interface CanonicalParts {
  /** `20261121T023059Z` */
  readonly longDate: string;
  /** Names of the signed headers, sorted, with `;` between them. */
  readonly names: string;
  readonly canonical: string;
}

/** The keys of the current day, and of the one before while clocks disagree about midnight: deriving one costs four hashes. */
export class SigningKeys {
  readonly #keys = new Map<string, KeyObject>();

  /** The value of the header `authorization`. */
  authorization(credentials: Credentials, place: SigningScope, { longDate, names, canonical }: CanonicalParts): string {
    const scope = scopeOf(place, longDate);
    const text = `${ALGORITHM}\n${longDate}\n${scope}\n${hash('sha256', canonical)}`;
    const key = this.#get(credentials.secretAccessKey, scope);
    const signature = createHmac('sha256', key).update(text).digest('hex');
    return authorizationOf(credentials, { scope, names, signature });
  }

  #get(secret: string, scope: string): KeyObject {
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

/** Signs with the headers that DynamoDB needs and no others. */
export class RequestSigner {
  readonly #keys = new SigningKeys();
  /** The header has whole seconds, and many requests share one. */
  #date = { second: NaN, text: '' };

  /** The headers to send, `host` included. */
  sign(request: WireRequest, credentials: Credentials, region: string, now: number): SignedHeaders {
    const longDate = this.#textOf(now);
    const { headers, names, canonical } = headersToSign(request, credentials, longDate);
    headers.authorization = this.#keys.authorization(
      credentials,
      { region, service: 'dynamodb' },
      { longDate, names, canonical: canonical + hash('sha256', request.body) },
    );
    return headers;
  }

  #textOf(now: number): string {
    const second = Math.floor(now / 1_000);
    if (second !== this.#date.second) this.#date = { second, text: basicIsoDate(now) };
    return this.#date.text;
  }
}
