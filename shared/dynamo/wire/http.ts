/**
 * One HTTP exchange over connections that are kept, and what it proves when it breaks off.
 *
 * A request is written, at once and with its signature, only when its connection stands (over TLS: when the certificate has been checked).
 * So whatever fails before was never sent, and that is certain. Afterwards only one thing proves that nothing was applied:
 * without TLS, a write that the system refused, for then no complete body exists at the other side.
 * A hang-up on a connection that was used before proves nothing,
 * nor does the number of bytes written: the server may have read the request.
 */
import { DynamoFault } from '../engine/driver.ts';
import type { Answer } from './answer.ts';
import type { Carried, Connection, HttpPlace } from './connection.ts';
import type { Passenger } from './connections.ts';
import { Connections } from './connections.ts';
import type { SystemError } from './system-error.ts';
import { systemFault } from './system-error.ts';

export interface HttpExchange {
  readonly place: HttpPlace;
  readonly body: string;
  /** Asked when the request is about to leave, so that what was signed is not old. */
  readonly headers: () => Readonly<Record<string, string>>;
}

export class HttpLine {
  readonly #connections = new Map<string, Connections>();
  #latest: { readonly place: HttpPlace; readonly connections: Connections } | undefined;

  /** @throws DynamoFault `unsent` or `unanswered` */
  exchange(exchange: HttpExchange, signal: AbortSignal): Promise<Answer> {
    // Whatever is aborted by now would be sent to be given up.
    if (signal.aborted) return Promise.reject(aborted('unsent'));
    const connections = this.#to(exchange.place);
    return new Promise((resolve, reject) => {
      connections.enter(new Request(exchange, { connections, signal, resolve, reject }));
    });
  }

  /** Closes the connections that nothing waits on. */
  close(): void {
    for (const connections of this.#connections.values()) connections.close();
  }

  #to(place: HttpPlace): Connections {
    if (this.#latest?.place === place) return this.#latest.connections;
    const { isTls, hostname, port } = place;
    const name = `${isTls ? 'https' : 'http'}://${hostname}:${port}`;
    const connections = this.#connections.get(name) ?? new Connections(place);
    this.#connections.set(name, connections);
    this.#latest = { place, connections };
    return connections;
  }
}

interface Surroundings {
  readonly connections: Connections;
  readonly signal: AbortSignal;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (fault: DynamoFault) => void;
}

/** The first outcome counts; what happens afterwards changes nothing. */
class Request implements Passenger, Carried {
  readonly #exchange: HttpExchange;
  readonly #around: Surroundings;
  /** Set when it has been written. */
  #connection: Connection | undefined;
  isOver = false;

  constructor(exchange: HttpExchange, around: Surroundings) {
    this.#exchange = exchange;
    this.#around = around;
    around.signal.addEventListener('abort', this.#abort, { once: true });
  }

  board(connection: Connection): boolean {
    const { body } = this.#exchange;
    const length = Buffer.byteLength(body);
    let head: string;
    try {
      head = this.#head(length);
    } catch (error) {
      this.#fail(new DynamoFault('unsent', { code: 'Unsigned', message: String(error), cause: error }));
      return false;
    }
    this.#connection = connection;
    // Text of one byte a character is written without being looked at.
    connection.send(head + body, length === body.length ? 'latin1' : 'utf8', this);
    return true;
  }

  answered(answer: Answer): void {
    if (this.#isFirst()) this.#around.resolve(answer);
  }

  broke(error: Error): void {
    this.#fail(faultOf(error, this.#connection !== undefined, this.#exchange.place));
  }

  /** @throws Error for what would be a line, or a request, of its own */
  #head(length: number): string {
    const { place, headers: signed } = this.#exchange;
    const headers = signed();
    let head = '';
    for (const name in headers) {
      const value = headers[name] ?? '';
      if (!LINE.test(value)) throw new TypeError(`the header ${name} holds characters that no header may have`);
      head += `${name}: ${value}\r\n`;
    }
    return `POST ${place.path} HTTP/1.1\r\n${head}content-length: ${length}\r\nconnection: keep-alive\r\n\r\n`;
  }

  readonly #abort = (): void => {
    const connection = this.#connection;
    this.#fail(aborted(connection === undefined ? 'unsent' : 'unanswered'));
    if (connection === undefined) this.#around.connections.leave(this);
    else connection.destroy();
  };

  #fail(fault: DynamoFault): void {
    if (this.#isFirst()) this.#around.reject(fault);
  }

  #isFirst(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    this.#around.signal.removeEventListener('abort', this.#abort);
    return true;
  }
}

const LINE = /^[\t\x20-\x7E]*$/;

function faultOf(error: SystemError, isWritten: boolean, { isTls }: HttpPlace): DynamoFault {
  // Over TLS the last write may be the farewell to a server that has read the request.
  const isRefusedWrite = !isTls && error.syscall === 'write';
  return systemFault(isWritten && !isRefusedWrite ? 'unanswered' : 'unsent', error);
}

function aborted(kind: 'unsent' | 'unanswered'): DynamoFault {
  const message = kind === 'unsent' ? 'there was no connection in time' : 'there was no answer in time';
  return new DynamoFault(kind, { code: 'AbortError', message });
}
