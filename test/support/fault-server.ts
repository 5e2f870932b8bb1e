/**
 * A server that answers as it is told, byte for byte, and counts what it read: what a network, a proxy or a service may do to one request.
 */
import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

export interface ReceivedRequest {
  readonly head: string;
  readonly body: string;
  header(name: string): string | undefined;
}

/** Answers one request that was read in full. */
export type Behaviour = (socket: Socket, request: ReceivedRequest) => void;

export interface FaultServer extends AsyncDisposable {
  readonly endpoint: string;
  /** Read in full, in order. */
  readonly received: readonly ReceivedRequest[];
  readonly connections: number;
  /** What the next requests meet, one after the other; the last one stays. */
  behave(...behaviours: Behaviour[]): void;
  /** What each new connection meets before its first byte is read. */
  onConnection(meet: (socket: Socket) => void): void;
}

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export async function startFaultServer(tls?: Certificate): Promise<FaultServer> {
  const received: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  let behaviours: Behaviour[] = [];
  let meet: (socket: Socket) => void = () => undefined;
  let connections = 0;

  const accept = (socket: Socket): void => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => void sockets.delete(socket));
    socket.on('error', () => undefined);
    meet(socket);
    let unread = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk]);
      for (let request = firstIn(unread); request !== undefined; request = firstIn(unread)) {
        unread = unread.subarray(request.bytes);
        received.push(request);
        const behaviour = behaviours.length > 1 ? behaviours.shift() : behaviours[0];
        behaviour?.(socket, request);
      }
    });
  };
  const server: Server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept);
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    received,
    get connections() {
      return connections;
    },
    behave(...next) {
      behaviours = next;
    },
    onConnection(next) {
      meet = next;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function firstIn(bytes: Buffer): (ReceivedRequest & { readonly bytes: number }) | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = bytes.subarray(0, headEnd).toString();
  const header = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim();
  const end = headEnd + 4 + Number(header('content-length') ?? 0);
  if (bytes.length < end) return undefined;
  return { head, body: bytes.subarray(headEnd + 4, end).toString(), header, bytes: end };
}

interface AnswerParts {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A whole answer with its length. */
export function answerBytes({ status = 200, headers = {}, body = '{}' }: AnswerParts): Buffer {
  const bytes = Buffer.from(body);
  const all = { 'content-type': 'application/x-amz-json-1.0', 'content-length': String(bytes.length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Said\r\n${lines.join('')}\r\n`), bytes]);
}

export function answer(parts: AnswerParts = {}): Behaviour {
  return (socket) => {
    socket.write(answerBytes(parts));
  };
}

/** An error of the service's. */
export function serviceError(
  type: string,
  {
    status = 400,
    message = 'no',
    date,
    ...members
  }: { status?: number; message?: string; date?: Date } & Record<string, unknown> = {},
): Behaviour {
  const body = JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message, ...members });
  return answer({ status, body, headers: date === undefined ? {} : { date: date.toUTCString() } });
}
