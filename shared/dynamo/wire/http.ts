/**
 * `HttpLine` sends requests over Node's own HTTP client. If a request fails, it reports whether the request may have been applied.
 *
 * A request is signed and written only when its connection is open, and over TLS when the certificate has been checked.
 * So a failure before that moment proves that nothing was sent.
 * After it, only one event proves that nothing was applied: without TLS, a write that the system refused,
 * because then the other side does not have a complete body.
 * A closed connection that was used before, or the number of bytes written, proves nothing,
 * because the server may have read the request.
 */
import type { LookupAddress, LookupOptions } from 'node:dns';
import type { AgentOptions, IncomingMessage } from 'node:http';
import type { Agent as TlsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { messageOf } from '../../core/errors.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { DynamoFault } from '../engine/driver.ts';
import type { Answer } from './answer.ts';
import { MAX_ANSWER_BYTES } from './answer.ts';
import { validHeader } from './header-value.ts';
import type { SystemError } from './system-error.ts';
import { systemFault } from './system-error.ts';

// `import` would read all exports of these modules, and so load Node's `fetch`, which takes 20 ms of each cold start.
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');
const dns = process.getBuiltinModule('node:dns');

/** An address to send requests to. */
export interface HttpEndpoint {
  readonly isTls: boolean;
  readonly hostname: string;
  readonly port: number;
  readonly path: string;
  /** The value of the `host` header: with the port unless it is the default one. */
  readonly host: string;
}

/** Parses an endpoint. */
export function placeOf(endpoint: string): HttpEndpoint {
  const { protocol, hostname, port, host, pathname } = new URL(endpoint);
  const isTls = protocol === 'https:';
  return {
    isTls,
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (isTls ? 443 : 80) : Number(port),
    path: pathname.endsWith('/') ? pathname : `${pathname}/`,
    host,
  };
}

interface HttpExchange {
  readonly place: HttpEndpoint;
  readonly body: string;
  /** Called just before the request is sent, so that its signature is fresh. */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
}

/** How long the system may take to find an address that we know already. Its look-ups share four threads with other work. */
const LOOKUP_MS = 250;

/** The addresses that hosts had last: a look-up would wait while bcrypt, zlib or the file system fill those threads. */
const ADDRESSES = new Map<string, readonly LookupAddress[]>();

type LookupCallback = (error: Error | null, found: string | LookupAddress[], family?: number) => void;

function lookup(hostname: string, options: LookupOptions, callback: LookupCallback): void {
  const known = ADDRESSES.get(hostname);
  let isOver = false;
  const answer = (error: Error | null, found: readonly LookupAddress[] = []): void => {
    if (isOver) return;
    isOver = true;
    cancel?.();
    if (error !== null || options.all === true) callback(error, [...found]);
    else callback(null, found[0]?.address ?? '', found[0]?.family);
  };
  const cancel = known && systemClock.after(LOOKUP_MS, () => answer(null, known));
  dns.lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error === null) ADDRESSES.set(hostname, found);
    answer(known === undefined ? error : null, error === null ? found : known);
  });
}

/** The same number as in the SDK. The service or a proxy would refuse hundreds of connections. */
export const MAX_SOCKETS = 50;
/** We close idle connections before the other side does, because a request would be lost if the other side closed at the same time. */
const IDLE_MS = 15_000;

export class HttpLine {
  readonly #settings = {
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    timeout: IDLE_MS,
    scheduling: 'lifo' as const,
    // Node's own agent has this if `NODE_USE_ENV_PROXY` or `--use-env-proxy` enables the proxies of the environment.
    proxyEnv: (http.globalAgent as { readonly options?: AgentOptions }).options?.proxyEnv,
  };
  readonly #plain = new http.Agent(this.#settings);
  #tls: TlsAgent | undefined;

  /** @throws DynamoFault `unsent` or `unanswered` */
  exchange({ place, body, headers }: HttpExchange, signal: AbortSignal): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    if (signal.aborted) return Promise.reject(aborted('unsent'));
    const request = (place.isTls ? https : http).request({
      method: 'POST',
      host: place.hostname,
      port: place.port,
      path: place.path,
      setHost: false,
      lookup,
      agent: place.isTls ? this.#tlsAgent() : this.#plain,
    });
    let isWritten = false;
    const fail = (error: Error): void => {
      signal.removeEventListener('abort', abort);
      reject(error instanceof DynamoFault ? error : faultOf(error, isWritten, place));
    };
    const abort = (): void => {
      fail(aborted(isWritten ? 'unanswered' : 'unsent'));
      request.destroy();
    };
    signal.addEventListener('abort', abort, { once: true });
    const write = async (): Promise<void> => {
      try {
        const signed = await headers();
        if (request.destroyed) return;
        for (const name in signed) request.setHeader(name, validHeader(name, signed[name] ?? ''));
        isWritten = true;
        request.end(body);
      } catch (error) {
        fail(new DynamoFault('unsent', { code: 'Unsigned', message: messageOf(error), cause: error }));
        request.destroy();
      }
    };
    request.once('socket', (socket) => {
      if (isConnected(socket, place)) void write();
      else socket.once(place.isTls ? 'secureConnect' : 'connect', () => void write());
    });
    // The first outcome counts. An error after a complete response still has a listener, but changes nothing.
    request.on('error', fail);
    request.on('response', (response) => {
      collect(response).then((answer) => {
        signal.removeEventListener('abort', abort);
        resolve(answer);
      }, fail);
    });
    return promise;
  }

  /** Closes idle connections. */
  close(): void {
    for (const agent of [this.#plain, this.#tls])
      for (const sockets of Object.values(agent?.freeSockets ?? {}))
        for (const socket of sockets ?? []) socket.destroy();
  }

  #tlsAgent(): TlsAgent {
    this.#tls ??= new https.Agent(this.#settings);
    return this.#tls;
  }
}

function isConnected(socket: Socket, { isTls }: HttpEndpoint): boolean {
  return (
    !socket.connecting && !(isTls && (socket as Socket & { readonly secureConnecting?: boolean }).secureConnecting)
  );
}

function collect(response: IncomingMessage): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const chunks: Buffer[] = [];
  let length = 0;
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) response.destroy(new Error(`the response is longer than ${MAX_ANSWER_BYTES} bytes`));
  });
  // Node reports an incomplete response as `aborted`, an error with the code ECONNRESET.
  response.on('error', reject);
  response.on('end', () => {
    if (!response.complete) return; // An error follows.
    const [first] = chunks;
    resolve({
      status: response.statusCode ?? 0,
      headers: response.headers as Answer['headers'],
      body: chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks),
    });
  });
  return promise;
}

function faultOf(error: SystemError, isWritten: boolean, { isTls }: HttpEndpoint): DynamoFault {
  // Over TLS, the last write may be the closing message to a server that has read the request.
  const isRefusedWrite = !isTls && error.syscall === 'write';
  return systemFault(isWritten && !isRefusedWrite ? 'unanswered' : 'unsent', error);
}

function aborted(kind: 'unsent' | 'unanswered'): DynamoFault {
  const message = kind === 'unsent' ? 'there was no connection in time' : 'there was no answer in time';
  return new DynamoFault(kind, { code: 'AbortError', message });
}
