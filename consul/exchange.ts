/** One request and its answer, in Consul's manners: parameters, methods, headers, bodies. */
import type { Context } from 'hono';
import { Body } from './body.ts';
import { stringifyExactly, parseExactly } from './json.ts';
import type { Gateway } from './gateway.ts';
import { Problem, badRequest, problemOf } from './problem.ts';
import type { Rights } from './tokens.ts';

/** What an endpoint answers with: something as JSON, or a whole response. */
export type Answer = { readonly json: unknown; readonly index?: number; readonly status?: 200 | 409 } | Response;
export type Endpoint = (exchange: Exchange) => Promise<Answer>;

export class Exchange {
  readonly gateway: Gateway;
  readonly rights: Rights;
  readonly method: string;
  readonly query: URLSearchParams;
  /** Aborts when the client goes away, or the gateway closes. */
  readonly signal: AbortSignal;
  /** What follows the endpoint's own path, decoded. */
  readonly rest: string;
  readonly #context: Context;

  constructor(context: Context, gateway: Gateway, path: string) {
    const { url } = context.req;
    // Taken from the text: a URL object would resolve the dots in a key.
    const [before, after] = splitOnce(url, '?');
    this.#context = context;
    this.gateway = gateway;
    this.method = context.req.method;
    this.query = new URLSearchParams(splitOnce(after, '#')[0]);
    this.rest = decoded(before.slice(before.indexOf(path, before.indexOf('//') + 2) + path.length));
    this.signal = AbortSignal.any([context.req.raw.signal, gateway.closing]);
    this.rights = gateway.tokens.rightsOf(this.#token());
  }

  has(name: string): boolean {
    return this.query.has(name);
  }

  /** A parameter that is a whole number of 64 bits. @throws Problem */
  number(name: string): bigint | undefined {
    const text = this.query.get(name);
    if (text === null) return undefined;
    const value = /^\d{1,20}$/.test(text) ? BigInt(text) : undefined;
    if (value === undefined || value >= 2n ** 64n)
      throw new Problem(500, `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
    return value;
  }

  /** The body's bytes. What is too large is not kept, but read to its end within reason: a client that is cut off sees no answer. @throws Problem 413 */
  async bytes(limit: number): Promise<Uint8Array> {
    const body: AsyncIterable<Uint8Array> | null = this.#context.req.raw.body;
    if (body === null) return new Uint8Array();
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of body) {
      size += chunk.byteLength;
      if (size <= limit) chunks.push(chunk);
      if (size > READ_LIMIT_BYTES) break;
    }
    // What was not read to its end lies in the way of the next request.
    if (size > limit) throw bodyTooLarge(size, limit, size > READ_LIMIT_BYTES ? { Connection: 'close' } : {});
    return Buffer.concat(chunks);
  }

  /** A JSON body; undefined when there is none. @param prefix what Consul says before the cause @throws Problem 400 */
  async json(prefix: string, limit = JSON_LIMIT_BYTES): Promise<unknown> {
    const bytes = await this.bytes(limit);
    if (bytes.byteLength === 0) return undefined;
    try {
      return parseExactly(Buffer.from(bytes).toString('utf8'));
    } catch (cause) {
      throw badRequest(`${prefix}: ${(cause as Error).message}`);
    }
  }

  /** A JSON object, or nothing, which has no fields. @throws Problem 400 */
  async body(): Promise<Body> {
    return new Body(await this.json(DECODE_FAILED), DECODE_FAILED);
  }

  #token(): string | undefined {
    const bearer = /^Bearer\s+(.+)$/i.exec(this.#context.req.header('authorization') ?? '')?.[1];
    const token = this.query.get('token') ?? this.#context.req.header('x-consul-token') ?? bearer;
    return token === '' ? undefined : token;
  }
}

/** What Consul says before the cause. */
export const DECODE_FAILED = 'Request decode failed';
/** As much as anybody may send by mistake. */
const READ_LIMIT_BYTES = 8 * 1024 * 1024;
/** Sessions, checks and transactions without their values are small. */
const JSON_LIMIT_BYTES = 512 * 1024;

/** Serves one path by method, and turns whatever is thrown into Consul's answer. */
export function serve(gateway: Gateway, path: string, methods: Readonly<Record<string, Endpoint>>) {
  return async (context: Context): Promise<Response> => {
    try {
      const endpoint = methods[context.req.method];
      const allowed = Object.keys(methods).join(',');
      if (context.req.method === 'OPTIONS') return new Response(null, { headers: { Allow: `OPTIONS,${allowed}` } });
      if (endpoint === undefined)
        throw new Problem(405, `method ${context.req.method} not allowed`, { Allow: allowed });
      const exchange = new Exchange(context, gateway, path);
      ensureConsistency(exchange);
      const answer = await endpoint(exchange);
      return answer instanceof Response ? answer : jsonResponse(answer, exchange);
    } catch (error) {
      const { status, message, headers } = problemOf(error);
      return new Response(message, { status, headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers } });
    }
  };
}

/** What clients read beside the body of a query. Every gateway is as good as a leader, and reads what is there. */
export function metaHeaders(index: number): Record<string, string> {
  return {
    'X-Consul-Index': String(index),
    'X-Consul-KnownLeader': 'true',
    'X-Consul-LastContact': '0',
    'X-Consul-Effective-Consistency': 'leader',
  };
}

function jsonResponse(answer: Exclude<Answer, Response>, exchange: Exchange): Response {
  const isPretty = exchange.has('pretty');
  const body = stringifyExactly(answer.json, isPretty ? 4 : 0);
  return new Response(isPretty ? `${body}\n` : body, {
    status: answer.status ?? 200,
    headers: {
      'Content-Type': 'application/json',
      ...(answer.index === undefined ? {} : metaHeaders(answer.index)),
    },
  });
}

/** Both are served alike, and asking for both makes no sense to Consul. */
function ensureConsistency(exchange: Exchange): void {
  if (exchange.has('stale') && exchange.has('consistent'))
    throw badRequest('Cannot specify ?stale with ?consistent, conflicting semantics.');
}

function bodyTooLarge(size: number, limit: number, headers: Readonly<Record<string, string>>): Problem {
  return new Problem(413, `Request body(${size} bytes) too large, max size: ${limit} bytes.`, headers);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badRequest(`invalid URL escape in ${JSON.stringify(text.slice(0, 80))}`);
  }
}

function splitOnce(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
