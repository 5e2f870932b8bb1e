/** A way to the engine that can be cut and joined again, under one address; the engine goes on meanwhile. */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

interface LineToEngine extends AsyncDisposable {
  readonly endpoint: string;
  /** Ends all connections, and refuses new ones. */
  cut(): Promise<void>;
  join(): Promise<void>;
}

export async function openLine(engine: string): Promise<LineToEngine> {
  const { hostname, port: enginePort } = new URL(engine);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(enginePort), hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on('error', () => void other.destroy());
      socket.on('close', () => void sockets.delete(socket));
    }
  });
  const join = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const cut = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await join(0);
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, cut, join: () => join(port), [Symbol.asyncDispose]: cut };
}
