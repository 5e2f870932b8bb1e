/** One request and its answer, in Consul's manners: parameters, methods, headers, bodies. */
import { messageOf } from '../../shared/core/errors.ts';
import { Body } from './body.ts';
import { stringifyExactly, parseExactly } from './json.ts';
import type { Gateway } from './gateway.ts';
import { Problem, badRequest, failed, isFailure, problemOf } from './problem.ts';
import type { Route } from './route.ts';
import type { Rights } from './tokens.ts';

/** An endpoint's answer: JSON, or a whole response. */
export type Answer =
  | {
      readonly json: unknown;
      readonly index?: number;
      readonly status?: 200 | 409;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | Response;
export type Endpoint = (exchange: Exchange) => Promise<Answer>;

export class Exchange {
  readonly gateway: Gateway;
  readonly rights: Rights;
  /** The client's, where the server knows it. */
  readonly address: string | undefined;
  readonly method: string;
  readonly query: URLSearchParams;
  /** The rest of the path after the endpoint's own, decoded. */
  readonly rest: string;
  readonly #request: Request;

  constructor(gateway: Gateway, request: Request, { rest, query, address }: Found) {
    this.#request = request;
    this.gateway = gateway;
    this.method = request.method;
    this.query = new URLSearchParams(query);
    this.rest = rest;
    this.address = address;
    this.rights = gateway.tokens.rightsOf(this.#token());
  }

  /** Aborts when the client goes away or the gateway closes. Created on first use, because most requests do not wait. */
  get signal(): AbortSignal {
    return AbortSignal.any([this.#request.signal, this.gateway.closing]);
  }

  /** Tells an operator what went wrong, whatever the caller is answered. */
  report(errors: readonly unknown[]): void {
    for (const error of errors) tellFailure(this.gateway, this.#request, error);
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

  /**
   * Returns the body's bytes. A body that is too large is read to its end, within reason, and dropped:
   * a client that is cut off would not see the answer. @throws Problem 413
   */
  async bytes(limit: number): Promise<Uint8Array> {
    const declared = this.#request.headers.get('content-length');
    // The declared length is within the limit. Reading it in one piece costs much less than reading chunks.
    if (declared !== null && Number(declared) <= limit) return new Uint8Array(await this.#request.arrayBuffer());
    const body: AsyncIterable<Uint8Array> | null = this.#request.body;
    if (body === null) return new Uint8Array();
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of body) {
      size += chunk.byteLength;
      if (size <= limit) chunks.push(chunk);
      if (size > READ_LIMIT_BYTES) break;
    }
    // An unread rest would be taken for the next request.
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
      throw badRequest(`${prefix}: ${messageOf(cause)}`);
    }
  }

  /** A JSON object, or nothing, which has no fields. @throws Problem 400 */
  async body(): Promise<Body> {
    return new Body(await this.json(DECODE_FAILED), DECODE_FAILED);
  }

  #token(): string | undefined {
    const bearer = /^Bearer\s+(.+)$/i.exec(this.#request.headers.get('authorization') ?? '')?.[1];
    const token = this.query.get('token') ?? this.#request.headers.get('x-consul-token') ?? bearer;
    return token === '' ? undefined : token;
  }
}

/** Consul's prefix for this error. */
export const DECODE_FAILED = 'Request decode failed';
/** More than a client sends except by mistake. */
const READ_LIMIT_BYTES = 8 * 1024 * 1024;
/** Sessions, checks and transactions without their values are small. */
const JSON_LIMIT_BYTES = 512 * 1024;

type Found = Extract<Route<Readonly<Record<string, Endpoint>>>, { kind: 'found' }> & {
  readonly address?: string | undefined;
};

/** Serves one path by method, and turns whatever is thrown into Consul's answer. */
export async function serve(gateway: Gateway, request: Request, route: Found): Promise<Response> {
  try {
    const { method } = request;
    const endpoint = route.endpoint[method];
    const allowed = ['OPTIONS', ...Object.keys(route.endpoint)].join(',');
    if (method === 'OPTIONS')
      return new Response(null, { headers: { Allow: allowed, 'Content-Type': 'application/json' } });
    if (endpoint === undefined) throw new Problem(405, `method ${method} not allowed`, { Allow: allowed });
    const exchange = new Exchange(gateway, request, route);
    ensureConsistency(exchange);
    ensureUndivided(exchange, request.headers);
    ensureDatacenter(exchange, route.pattern);
    const answer = await endpoint(exchange);
    return answer instanceof Response ? answer : jsonResponse(answer, exchange);
  } catch (error) {
    // A caller that hung up needs no answer, and nothing failed.
    if (isFailure(error) && !request.signal.aborted) tellFailure(gateway, request, error);
    const { status, message, headers } = problemOf(error);
    return textResponse(status, message, headers);
  }
}

export function textResponse(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, { status, headers: { 'Content-Type': 'text/plain; charset=utf-8', ...headers } });
}

function tellFailure({ onFailure }: Gateway, { method, url }: Request, error: unknown): void {
  onFailure({ method, path: new URL(url).pathname, error });
}

/** Headers that clients read in addition to a query's body. Every gateway counts as a leader with a consistent read. */
export function metaHeaders(index: number): Record<string, string> {
  return {
    'X-Consul-Index': String(index),
    'X-Consul-KnownLeader': 'true',
    'X-Consul-LastContact': '0',
    'X-Consul-Effective-Consistency': 'leader',
  };
}

function jsonResponse(answer: Exclude<Answer, Response>, exchange: Exchange): Response {
  const isPretty = exchange.query.has('pretty');
  const body = stringifyExactly(answer.json, isPretty ? 4 : 0);
  return new Response(isPretty ? `${body}\n` : body, {
    status: answer.status ?? 200,
    headers: {
      'Content-Type': 'application/json',
      ...(answer.index === undefined ? {} : metaHeaders(answer.index)),
      ...answer.headers,
    },
  });
}

/** Both are served alike, and asking for both makes no sense to Consul. */
function ensureConsistency(exchange: Exchange): void {
  if (exchange.query.has('stale') && exchange.query.has('consistent'))
    throw badRequest('Cannot specify ?stale with ?consistent, conflicting semantics.');
}

const DIVISIONS = [
  { parameter: 'ns', header: 'X-Consul-Namespace', what: 'Namespaces' },
  { parameter: 'partition', header: 'X-Consul-Partition', what: 'Partitions' },
] as const;

/** A caller that names a namespace expects separate keys, which the gateway does not have. */
function ensureUndivided({ query }: Exchange, headers: Headers): void {
  for (const { parameter, header, what } of DIVISIONS) {
    const refused = (named: string): Problem =>
      badRequest(`Invalid ${named} - ${what} are a Consul Enterprise feature`);
    if ((headers.get(header) ?? '') !== '') throw refused(`header: "${header}"`);
    if ((query.get(parameter) ?? '') !== '') throw refused(`query parameter: "${parameter}"`);
  }
}

/** Endpoints that the agent itself answers, so `?dc` does not apply. */
const OF_THE_AGENT = ['/v1/agent/', '/v1/catalog/datacenters', '/v1/event/list'];

/** There is one datacenter: a lock that was asked for in another must not be taken here. */
function ensureDatacenter({ query, gateway }: Exchange, pattern: string): void {
  const { datacenter } = gateway.settings;
  const asked = ['datacenter', 'dc'].map((name) => query.get(name) ?? '').find((name) => name !== '') ?? datacenter;
  if (asked === datacenter || OF_THE_AGENT.some((prefix) => pattern.startsWith(prefix))) return;
  throw failed('No path to datacenter');
}

function bodyTooLarge(size: number, limit: number, headers: Readonly<Record<string, string>>): Problem {
  return new Problem(413, `Request body(${size} bytes) too large, max size: ${limit} bytes.`, headers);
}
