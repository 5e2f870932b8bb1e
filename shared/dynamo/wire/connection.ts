/**
 * One connection, over TCP or TLS, that carries one request after the other.
 *
 * Each read goes to one buffer, and answers are copied out of it; each request is one write of text, head and body together.
 * That spares the streams, the events and the objects that `node:http` makes for each request, which was a third of a call's CPU.
 * Whatever comes while nothing was asked closes the connection, for it would be taken for the answer to the next request.
 */
import { isIP, connect as connectPlain } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Answer } from './answer.ts';
import { AnswerReader } from './answer-reader.ts';

/** Where requests go. */
export interface HttpPlace {
  readonly isTls: boolean;
  readonly hostname: string;
  readonly port: number;
  readonly path: string;
}

/** A request on its way: it is told one of the two, once. */
export interface Carried {
  answered(answer: Answer): void;
  /** The connection has broken off, and no answer will come. */
  broke(error: Error): void;
}

export interface ConnectionEvents {
  /** It stands, and over TLS the certificate has been checked. */
  readonly connected: (connection: Connection) => void;
  /** An answer is whole, and the next request may follow. */
  readonly freed: (connection: Connection) => void;
  /** @param error why, where the system says so */
  readonly closed: (connection: Connection, error: Error | undefined) => void;
  /** With it the next connection to the same place needs a shorter handshake. */
  readonly session: (session: Buffer) => void;
}

/** Idle connections are dropped before the other side does: a request that crosses a hang-up comes to nothing. */
const IDLE_MS = 15_000;
/** So much earlier than the other side says that it will. */
const HINT_MARGIN_MS = 1_000;
const KEEP_ALIVE_DELAY_MS = 1_000;
const READ_BYTES = 64 * 2 ** 10;

export class Connection {
  readonly #events: ConnectionEvents;
  readonly #socket: Socket;
  #carried: Carried | undefined;
  #reader = new AnswerReader();
  #error: Error | undefined;
  /** How long the other side keeps it, so far as it has said. */
  #idleMs = IDLE_MS;

  constructor(place: HttpPlace, session: Buffer | undefined, events: ConnectionEvents) {
    this.#events = events;
    this.#socket = this.#open(place, session);
    this.#socket.once(place.isTls ? 'secureConnect' : 'connect', () => {
      events.connected(this);
    });
    this.#socket.on('session', events.session);
    // Where a runtime does not know the option `onread`, bytes come so.
    this.#socket.on('data', (bytes: Buffer) => {
      this.#read(bytes);
    });
    this.#socket.on('end', () => {
      this.#end();
    });
    this.#socket.on('timeout', () => {
      if (this.#carried === undefined && !this.#socket.connecting) this.#socket.destroy();
    });
    this.#socket.on('error', (error) => {
      this.#error ??= error;
    });
    this.#socket.once('close', () => {
      events.closed(this, this.#error);
      this.#break(this.#error ?? hungUp());
    });
  }

  /** @param text one byte a character in `latin1` */
  send(text: string, encoding: 'latin1' | 'utf8', carried: Carried): void {
    this.#carried = carried;
    this.#reader = new AnswerReader();
    this.#socket.write(text, encoding);
  }

  /** No request waits for it: it keeps no process alive, and ends by itself. */
  rest(): void {
    if (this.#socket.timeout !== this.#idleMs) this.#socket.setTimeout(this.#idleMs);
    this.#socket.unref();
  }

  /** @returns false for one that is lost meanwhile */
  wake(): boolean {
    if (this.#socket.destroyed || !this.#socket.writable) return false;
    this.#socket.ref();
    return true;
  }

  /** Whatever it carries is told nothing any more. */
  destroy(): void {
    this.#carried = undefined;
    this.#socket.destroy();
  }

  #open({ isTls, hostname, port }: HttpPlace, session: Buffer | undefined): Socket {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const options = {
      host: hostname,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
      onread: {
        buffer,
        callback: (length: number) => {
          this.#read(buffer.subarray(0, length));
          return true;
        },
      },
    };
    if (!isTls) return connectPlain(options);
    // A name is sent for the server to choose its certificate by; an address is none.
    const tls = { ...options, servername: isIP(hostname) === 0 ? hostname : '', ALPNProtocols: ['http/1.1'] };
    return connectTls(session === undefined ? tls : { ...tls, session });
  }

  #read(bytes: Buffer): void {
    if (this.#carried === undefined) {
      this.#socket.destroy();
      return;
    }
    try {
      const answer = this.#reader.read(bytes);
      if (answer !== undefined) this.#finish(answer);
    } catch (error) {
      this.#break(error as Error);
    }
  }

  /** The other side sends no more. */
  #end(): void {
    if (this.#carried === undefined) return;
    const answer = this.#reader.end();
    if (answer === undefined) this.#break(hungUp());
    else this.#finish(answer);
  }

  #finish(answer: Answer): void {
    const carried = this.#carried;
    this.#carried = undefined;
    // What of a request has not left would be the beginning of the next one.
    if (this.#reader.isKept && this.#socket.writableLength === 0 && this.#heedHint(answer)) this.#events.freed(this);
    else this.#socket.destroy();
    carried?.answered(answer);
  }

  /** @returns whether the other side keeps the connection for long enough */
  #heedHint({ headers }: Answer): boolean {
    const hint = headers['keep-alive'];
    const [, seconds] = hint === undefined ? [] : (/(?:^|[,\s])timeout=(\d+)/i.exec(hint) ?? []);
    if (seconds !== undefined) this.#idleMs = Math.min(IDLE_MS, Number(seconds) * 1_000 - HINT_MARGIN_MS);
    return this.#idleMs > 0;
  }

  #break(error: Error): void {
    const carried = this.#carried;
    this.#carried = undefined;
    this.#socket.destroy();
    carried?.broke(error);
  }
}

function hungUp(): Error {
  return Object.assign(new Error('the connection broke off before the answer was whole'), { code: 'ECONNRESET' });
}
