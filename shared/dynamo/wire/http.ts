/**
 * One HTTP exchange over connections that are kept, and what it proves when it breaks off.
 *
 * A request is written, at once and with its signature, only when its connection stands (over TLS: when the certificate has been checked).
 * So whatever fails before was never sent, and that is certain. Afterwards only one thing proves that nothing was applied:
 * without TLS, a write that the system refused, for then no complete body exists at the other side.
 * A hang-up on a connection that was used before proves nothing,
 * nor does the number of bytes written: the server may have read the request.
 */
import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { DynamoFault } from '../engine/driver.ts';
import type { Answer } from './answer.ts';
import { MAX_ANSWER_BYTES } from './answer.ts';

/** Where requests go. */
export interface HttpPlace {
  readonly isTls: boolean;
  readonly hostname: string;
  readonly port: number;
  readonly path: string;
}

export interface HttpExchange {
  readonly place: HttpPlace;
  readonly body: string;
  /** Asked when the request is about to leave, so that what was signed is not old. */
  readonly headers: () => Readonly<Record<string, string>>;
}

/** As many as the SDK opens: a connection for each of hundreds of calls in flight would be refused by the service or a proxy. */
const MAX_SOCKETS = 50;
/** Idle connections are dropped before the other side does: a request that crosses a hang-up comes to nothing. */
const IDLE_MS = 15_000;

export class HttpLine {
  readonly #settings = { keepAlive: true, maxSockets: MAX_SOCKETS, timeout: IDLE_MS, scheduling: 'lifo' as const };
  readonly #plain = new http.Agent(this.#settings);
  #tls: https.Agent | undefined;

  /** @throws DynamoFault `unsent` or `unanswered` */
  exchange(exchange: HttpExchange, signal: AbortSignal): Promise<Answer> {
    const { place } = exchange;
    const options = {
      method: 'POST',
      host: place.hostname,
      port: place.port,
      path: place.path,
      setHost: false,
      agent: place.isTls ? this.#tlsAgent() : this.#plain,
    };
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    // Whatever is aborted by now would be sent to be given up.
    if (signal.aborted) return Promise.reject(aborted('unsent'));
    const request = place.isTls ? https.request(options) : http.request(options);
    let isWritten = false;
    const settle = (): void => {
      signal.removeEventListener('abort', abort);
    };
    const fail = (error: unknown): void => {
      settle();
      reject(error instanceof DynamoFault ? error : faultOf(error as SystemError, isWritten, place));
    };
    const abort = (): void => {
      fail(aborted(isWritten ? 'unanswered' : 'unsent'));
      request.destroy();
    };
    signal.addEventListener('abort', abort, { once: true });
    const write = (): void => {
      if (signal.aborted || request.destroyed) return;
      try {
        const headers = exchange.headers();
        for (const name in headers) request.setHeader(name, headers[name] ?? '');
      } catch (error) {
        fail(new DynamoFault('unsent', { code: 'Unsigned', message: String(error), cause: error }));
        request.destroy();
        return;
      }
      isWritten = true;
      request.end(exchange.body);
    };
    request.once('socket', (socket) => {
      if (isConnected(socket, place)) write();
      else socket.once(place.isTls ? 'secureConnect' : 'connect', write);
    });
    // The first outcome counts; errors that follow a good answer find a listener and change nothing.
    request.on('error', fail);
    request.on('response', (response) => {
      collect(response).then((answer) => {
        settle();
        resolve(answer);
      }, fail);
    });
    return promise;
  }

  /** Closes the connections that nothing waits on. */
  close(): void {
    this.#plain.destroy();
    this.#tls?.destroy();
  }

  #tlsAgent(): https.Agent {
    this.#tls ??= new https.Agent(this.#settings);
    return this.#tls;
  }
}

function isConnected(socket: Socket, { isTls }: HttpPlace): boolean {
  if (socket.connecting || socket.destroyed) return false;
  return !isTls || !(socket as Socket & { readonly secureConnecting?: boolean }).secureConnecting;
}

function collect(response: http.IncomingMessage): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const chunks: Buffer[] = [];
  let length = 0;
  let isWhole = false;
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) response.destroy(new Error(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`));
  });
  response.on('error', reject);
  response.on('close', () => {
    // It closes behind each whole answer too: an error made there for nothing took a twentieth of our CPU.
    if (!isWhole)
      reject(Object.assign(new Error('the connection broke off within the answer'), { code: 'ECONNRESET' }));
  });
  response.on('end', () => {
    if (!response.complete) return; // An error follows.
    isWhole = true;
    const [first] = chunks;
    resolve({
      status: response.statusCode ?? 0,
      headers: response.headers as Answer['headers'],
      body: chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks),
    });
  });
  return promise;
}

interface SystemError extends Error {
  readonly code?: string;
  readonly syscall?: string;
  /** What became of each address of a host that has several. */
  readonly errors?: readonly Error[];
}

function faultOf(error: SystemError, isWritten: boolean, { isTls }: HttpPlace): DynamoFault {
  const { code = error.name, message, errors = [] } = error;
  // Over TLS the last write may be the farewell to a server that has read the request.
  const isRefusedWrite = !isTls && error.syscall === 'write';
  return new DynamoFault(isWritten && !isRefusedWrite ? 'unanswered' : 'unsent', {
    code,
    message: message === '' ? errors.map((each) => each.message).join(', ') : message,
    cause: error,
  });
}

function aborted(kind: 'unsent' | 'unanswered'): DynamoFault {
  const message = kind === 'unsent' ? 'there was no connection in time' : 'there was no answer in time';
  return new DynamoFault(kind, { code: 'AbortError', message });
}
