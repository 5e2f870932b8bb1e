/**
 * Signature Version 4 for the one form of request that we send, with its key kept for the day.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
 */
import { createHmac, createSecretKey, hash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Credentials } from './credentials.ts';

const ALGORITHM = 'AWS4-HMAC-SHA256';

export interface SigningScope {
  readonly region: string;
  readonly service: string;
}

/** What is signed beside the scope. */
export interface CanonicalParts {
  /** `20261121T023059Z` */
  readonly longDate: string;
  /** Of the signed headers, sorted, with `;` between them. */
  readonly names: string;
  readonly canonical: string;
}

/** The keys of the current day, and of the one before while clocks disagree about midnight: deriving one costs four hashes. */
export class SigningKeys {
  readonly #keys = new Map<string, KeyObject>();

  /** The value of the header `authorization`. */
  authorization(
    { accessKeyId, secretAccessKey }: Credentials,
    { region, service }: SigningScope,
    { longDate, names, canonical }: CanonicalParts,
  ): string {
    const scope = `${longDate.slice(0, 8)}/${region}/${service}/aws4_request`;
    const text = `${ALGORITHM}\n${longDate}\n${scope}\n${hash('sha256', canonical)}`;
    const signature = createHmac('sha256', this.#get(secretAccessKey, scope)).update(text).digest('hex');
    return `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
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

/** What is signed of a path: DynamoDB has `/`; an endpoint behind a proxy may have a longer one, without its dots and escaped once more. */
export function canonicalPath(path: string): string {
  if (path === '/' || path === '') return '/';
  const segments: string[] = [];
  for (const segment of path.split('/'))
    if (segment === '..') segments.pop();
    else if (segment !== '' && segment !== '.') segments.push(segment);
  const end = segments.length > 0 && path.endsWith('/') ? '/' : '';
  return uriEscaped(`${path.startsWith('/') ? '/' : ''}${segments.join('/')}${end}`).replaceAll('%2F', '/');
}

export function uriEscaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** 20261121T023059Z */
export function basicIsoDate(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/[-:]|\.\d{3}/g, '');
}

/** A request as the wire driver sends it. */
export interface WireRequest {
  readonly host: string;
  readonly path: string;
  /** `DynamoDB_20120810.GetItem` */
  readonly target: string;
  readonly body: string;
}

export type SignedHeaders = Record<string, string>;

/** Signs with the headers that DynamoDB needs and no others; they are those of the SDK with `applyChecksum: false`. */
export class RequestSigner {
  readonly #keys = new SigningKeys();
  /** The header has whole seconds, and many requests share one. */
  #date = { second: NaN, text: '' };

  /** The headers to send, `host` included. */
  sign(request: WireRequest, credentials: Credentials, region: string, now: number): SignedHeaders {
    const { host, path, target, body } = request;
    const { sessionToken } = credentials;
    const longDate = this.#textOf(now);
    const isTemporary = sessionToken !== undefined;
    const token = isTemporary ? `x-amz-security-token:${sessionToken}\n` : '';
    const names = isTemporary ? NAMES_WITH_TOKEN : NAMES;
    const signed = `content-type:${CONTENT_TYPE}\nhost:${host}\nx-amz-date:${longDate}\n${token}x-amz-target:${target}\n`;
    const canonical = `POST\n${canonicalPath(path)}\n\n${signed}\n${names}\n${hash('sha256', body)}`;
    const headers: SignedHeaders = {
      host,
      'content-type': CONTENT_TYPE,
      'x-amz-date': longDate,
      'x-amz-target': target,
      authorization: this.#keys.authorization(
        credentials,
        { region, service: 'dynamodb' },
        { longDate, names, canonical },
      ),
    };
    if (isTemporary) headers['x-amz-security-token'] = sessionToken;
    return headers;
  }

  #textOf(now: number): string {
    const second = Math.floor(now / 1_000);
    if (second !== this.#date.second) this.#date = { second, text: basicIsoDate(now) };
    return this.#date.text;
  }
}

const CONTENT_TYPE = 'application/x-amz-json-1.0';
const NAMES = 'content-type;host;x-amz-date;x-amz-target';
const NAMES_WITH_TOKEN = 'content-type;host;x-amz-date;x-amz-security-token;x-amz-target';
