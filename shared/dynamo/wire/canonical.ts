/** What Signature Version 4 signs of the one form of request that we send: text only, so that any host can hash and sign it. */
import type { Credentials } from './credentials.ts';

export const ALGORITHM = 'AWS4-HMAC-SHA256';

/** `20261121/eu-west-1/dynamodb/aws4_request`: a key is derived for each. */
export function scopeOf(region: string, longDate: string): string {
  return `${longDate.slice(0, 8)}/${region}/dynamodb/aws4_request`;
}

/** The value of the header `authorization`. */
export function authorizationOf(
  { accessKeyId }: Pick<Credentials, 'accessKeyId'>,
  { scope, names, signature }: { readonly scope: string; readonly names: string; readonly signature: string },
): string {
  return `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
}

/** What is signed of a path: DynamoDB has `/`; an endpoint behind a proxy may have a longer one, without its dots and escaped once more. */
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

/** The headers that DynamoDB needs and no others; they are those of the SDK with `applyChecksum: false`. */
export function headersToSign(
  { host, path, target }: Omit<WireRequest, 'body'>,
  { sessionToken }: Pick<Credentials, 'sessionToken'>,
  longDate: string,
): {
  readonly headers: SignedHeaders;
  readonly names: string;
  /** The canonical request, but for the hash of the body at its end. */
  readonly canonical: string;
} {
  const isTemporary = sessionToken !== undefined;
  const token = isTemporary ? `x-amz-security-token:${sessionToken}\n` : '';
  const names = isTemporary ? NAMES_WITH_TOKEN : NAMES;
  const signed = `content-type:${CONTENT_TYPE}\nhost:${host}\nx-amz-date:${longDate}\n${token}x-amz-target:${target}\n`;
  const headers: SignedHeaders = { host, 'content-type': CONTENT_TYPE, 'x-amz-date': longDate, 'x-amz-target': target };
  if (isTemporary) headers['x-amz-security-token'] = sessionToken;
  return { headers, names, canonical: `POST\n${canonicalPath(path)}\n\n${signed}\n${names}\n` };
}

const CONTENT_TYPE = 'application/x-amz-json-1.0';
const NAMES = 'content-type;host;x-amz-date;x-amz-target';
const NAMES_WITH_TOKEN = 'content-type;host;x-amz-date;x-amz-security-token;x-amz-target';
