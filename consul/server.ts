/** The gateway as a process: for a laptop, or beside a program that speaks to Consul. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isIP } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { isLoopbackHost } from '../shared/dynamo/connect.ts';
import { ConfigurationError } from '../shared/errors.ts';
import type { GatewayOptions } from './app.ts';
import { createConsulApp } from './app.ts';
import { refusalOf } from './gate.ts';

export interface RunningGateway {
  readonly url: string;
  close(): Promise<void>;
}

export interface ServerOptions extends Omit<GatewayOptions, 'closing'> {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
}

/** @throws ConfigurationError when it would be open to others, or when the address cannot be had */
export async function startGateway({ host, port, ...options }: ServerOptions): Promise<RunningGateway> {
  if (options.tokens === undefined && !isLoopbackHost(host))
    throw new ConfigurationError(
      `host ${host} is not loopback, and there are no tokens: every caller that reaches it ` +
        'could do everything; give --tokens, or listen on 127.0.0.1',
    );
  const closing = new AbortController();
  const app = createConsulApp({ ...options, closing: closing.signal });
  const guarded: typeof app.fetch = (request, bindings) => {
    const refusal = options.tokens === undefined ? refusalOf(request) : undefined;
    return refusal === undefined
      ? app.fetch(request, bindings)
      : Promise.resolve(
          new Response(refusal, { status: 403, headers: { 'Content-Type': 'text/plain; charset=utf-8' } }),
        );
  };
  const server = createAdaptorServer({ fetch: guarded, overrideGlobalObjects: false }) as Server;
  await listen(server, host, port);
  const address = server.address() as AddressInfo;
  return {
    url: `http://${isIP(address.address) === 6 ? `[${address.address}]` : address.address}:${address.port}`,
    async close() {
      const closed = once(server, 'close');
      closing.abort();
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    if (['EADDRINUSE', 'EADDRNOTAVAIL', 'EACCES', 'ENOTFOUND'].includes(code))
      throw new ConfigurationError(`cannot listen on ${host} port ${port} (${code}): give another --host or --port`, {
        cause,
      });
    throw cause;
  }
}
