/**
 * The front of every engine that we start: it admits programs of this machine, and no web page.
 *
 * An engine checks no signature, and a developer's engine has a well-known port and table. Any page in the developer's browser could
 * put a task into the table, and `leasehold dev` would run task code with the page's input.
 *
 *   - A request with an `Origin` comes from a page. Engines serve no pages, so no page has a reason to ask; a preflight has one too.
 *   - `Sec-Fetch-Site` identifies pages' requests without `Origin`, such as images. `none` is a typed address.
 *   - `Host` must name loopback: a foreign name that an attacker points at this machine (DNS rebinding) is refused.
 *
 * An engine in its own process listens behind it, at a secret address. On Linux that is one of 16 million
 * loopback addresses; elsewhere only the port is random.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request as ask } from 'node:http';
import { isLoopbackHost } from '../../shared/dynamo/wire/endpoint.ts';
import { LOOPBACK, close } from '../../shared/core/listen.ts';
import { listenOnLoopback } from './listen.ts';
import { WriteCount } from './write-count.ts';

export interface EngineAddress {
  readonly host: string;
  readonly port: number;
}

interface Front {
  readonly endpoint: string;
  /** The target of requests from now on. Before that, each ends unanswered. */
  leadTo(engine: EngineAddress): void;
  close(): Promise<void>;
}

/** Longer than a client keeps an idle connection, so that the client closes it. */
export const KEEP_ALIVE_MS = 120_000;
/** Shorter than an engine keeps an idle connection (30 s of DynamoDB Local), for the same reason. */
const IDLE_MS = 10_000;

/**
 * @param port without one, a free one is taken
 * @throws ConfigurationError when the port is taken
 */
export async function openFront(port: number | undefined): Promise<Front> {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
  const writes = new WriteCount();
  let engine: EngineAddress | undefined;
  const admit = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.on('close', () => writes.note(request.headers));
    const added = await writes.hold(request.headers, response);
    if (engine === undefined || response.destroyed) response.destroy();
    else forward(request, response, { engine: { ...engine, agent }, added });
  };
  const server = createServer((request, response) => {
    const refusal = refusalOf(request.headers);
    if (refusal === undefined) void admit(request, response);
    else refuse(request, response, refusal);
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const own = await listenOnLoopback(server, port);
  return {
    endpoint: `http://${LOOPBACK}:${own}`,
    leadTo(found) {
      engine = found;
    },
    async close() {
      agent.destroy();
      await close(server);
    },
  };
}

/** Why a request is refused; undefined if it is let in. */
export function refusalOf(headers: IncomingHttpHeaders): string | undefined {
  const { origin, host = '', 'sec-fetch-site': site = 'none' } = headers;
  const name = URL.parse(`http://${host}`)?.hostname ?? '';
  if (!isLoopbackHost(name.replace(/^\[|\]$/g, '')))
    return `this server answers programs of this machine, on loopback only, not as ${JSON.stringify(host)}`;
  if (origin !== undefined || site !== 'none')
    return 'this server answers programs of this machine, and a web page asked for this';
  return undefined;
}

/** As DynamoDB refuses, so that a client says why. */
function refuse(request: IncomingMessage, response: ServerResponse, message: string): void {
  request.resume();
  response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' });
  response.end(JSON.stringify({ __type: 'com.amazonaws.dynamodb.v20120810#AccessDeniedException', message }));
}

/** Passes a request and its answer on. If one side breaks off, the other does too, because the outcome is unknown. */
function forward(
  request: IncomingMessage,
  response: ServerResponse,
  { engine, added }: { readonly engine: EngineAddress & { readonly agent: Agent }; readonly added: readonly string[] },
): void {
  const { method, url: path, rawHeaders: headers } = request;
  const breakOff = (): void => {
    asking.destroy();
    response.destroy();
  };
  const asking = ask({ ...engine, method, path, headers }, (answer) => {
    response.sendDate = false;
    response.writeHead(answer.statusCode ?? 502, [...answer.rawHeaders, ...added]);
    answer.on('error', breakOff).pipe(response);
  });
  asking.on('error', breakOff);
  response.on('close', () => {
    if (!response.writableFinished) breakOff();
  });
  request.on('error', breakOff).pipe(asking);
}
