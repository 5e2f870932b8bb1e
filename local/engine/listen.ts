/** An engine's port of loopback. */
import type { Server } from 'node:http';
import { LOOPBACK, listen } from '../../shared/core/listen.ts';

/**
 * @returns the port
 * @throws ConfigurationError when a port was asked for and is taken
 */
export async function listenOnLoopback(server: Server, port = 0): Promise<number> {
  const refusal = (code: string): string =>
    `port ${port} of ${LOOPBACK} cannot be used (${code}): choose another, or 0 for a free one`;
  const address = await listen(server, { host: LOOPBACK, port, refusal });
  return address.port;
}
