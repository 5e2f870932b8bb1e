/**
 * Asks an endpoint whether it speaks DynamoDB, without the SDK: one unsigned ListTables.
 * Emulators answer it with tables, the real service with a refusal; both prove who is listening.
 */

type Answer =
  /** It listed its tables: ready for work. */
  | { readonly kind: 'ready' }
  /** It is DynamoDB, and wants to know who asks. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Something else listens there. */
  | { readonly kind: 'stranger'; readonly found: string }
  | { readonly kind: 'silent'; readonly cause: string };

/** Emulators insist on a credential and a date, but check neither. */
const UNCHECKED_AUTHORIZATION =
  'AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0';

export async function probe(endpoint: string, timeoutMs: number): Promise<Answer> {
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'DynamoDB_20120810.ListTables',
        'x-amz-date': '20260101T000000Z',
        authorization: UNCHECKED_AUTHORIZATION,
      },
      body: '{}',
      signal: AbortSignal.timeout(timeoutMs),
    });
    return classify(response.status, await response.text());
  } catch (error) {
    return { kind: 'silent', cause: connectionFailure(error) };
  }
}

function classify(status: number, text: string): Answer {
  const body = parseObject(text);
  if (Array.isArray(body?.TableNames)) return { kind: 'ready' };
  const type = body?.__type;
  if (typeof type === 'string') return { kind: 'refused', reason: type.replace(/^.*#/, '') };
  return { kind: 'stranger', found: `HTTP ${status}` };
}

function parseObject(text: string): { TableNames?: unknown; __type?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined; // Not JSON, so not DynamoDB: the caller reports what was found instead.
  }
}

/** `fetch` hides what happened (ECONNREFUSED, ENOTFOUND, …) in the cause of its error. */
function connectionFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  const { cause } = error;
  if (cause instanceof Error) return (cause as NodeJS.ErrnoException).code ?? cause.message;
  return error.name === 'TimeoutError' ? 'no answer in time' : error.message;
}
