/** A tunnel to a local server that can be cut, or stall silently. */
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { once } from 'node:events';

export interface Tunnel extends AsyncDisposable {
  readonly port: number;
  /** Breaks every connection, and refuses new ones. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** Takes what is sent and passes nothing on. */
  stall(): void;
  flow(): void;
}

/** @param target its target: an engine of a test run has its own address in addition to its port */
export async function openTunnel(target: string): Promise<Tunnel> {
  const { hostname, port: targetPort } = new URL(target);
  const pairs = new Set<readonly [Socket, Socket]>();
  let isStalled = false;
  const server = createServer((inner) => {
    const outer = connect(Number(targetPort), hostname);
    const pair = [inner, outer] as const;
    pairs.add(pair);
    const end = (): void => {
      for (const socket of pair) socket.destroy();
      pairs.delete(pair);
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
    inner.pipe(outer);
    outer.pipe(inner);
    if (isStalled) for (const socket of pair) socket.pause();
  });
  const listen = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    await once(server, 'close');
  };
  const each = (act: (socket: Socket) => void): void => {
    for (const pair of pairs) for (const socket of pair) act(socket);
  };
  return {
    port,
    cut,
    mend: () => listen(port),
    stall() {
      isStalled = true;
      each((socket) => void socket.pause());
    },
    flow() {
      isStalled = false;
      each((socket) => void socket.resume());
    },
    [Symbol.asyncDispose]: cut,
  };
}
