/** A server on a port of loopback. */
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { ConfigurationError } from '../../shared/errors.ts';

export const LOOPBACK = '127.0.0.1';

/**
 * @param port absent: a free one
 * @returns the port
 * @throws ConfigurationError when a port was asked for and is taken
 */
export async function listenOnLoopback(server: Server, port: number | undefined): Promise<number> {
  try {
    server.listen(port ?? 0, LOOPBACK);
    await once(server, 'listening');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new ConfigurationError(
      `port ${port ?? 0} of ${LOOPBACK} cannot be used (${code}): choose another, or leave it out for a free one`,
      { cause: error },
    );
  }
  return (server.address() as AddressInfo).port;
}
