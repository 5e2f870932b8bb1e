/** Lets servers of local processes listen on an address, and closes them with all their connections. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigurationError } from './errors.ts';

export const LOOPBACK = '127.0.0.1';

/** Connections that wait to be accepted. Beyond, the system drops them, and a client tries again only after a second or more. */
const BACKLOG = 4_096;

interface ListenOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** The message for an unavailable address, by the system's error code. */
  readonly refusal: (code: string) => string;
}

/** @throws ConfigurationError if the address is not available */
export async function listen(server: Server, { host, port, refusal }: ListenOptions): Promise<AddressInfo> {
  try {
    server.listen({ port, host, backlog: BACKLOG });
    await once(server, 'listening');
  } catch (cause) {
    throw new ConfigurationError(refusal((cause as NodeJS.ErrnoException).code ?? 'unknown'), { cause });
  }
  return server.address() as AddressInfo;
}

/** Also ends requests in flight. */
export async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
