/** The gateway as a process, for a laptop or next to a program that speaks to Consul. */
import type { Server } from 'node:http';
import { isIP } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { isLoopbackHost } from '../../shared/dynamo/wire/endpoint.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { close, listen } from '../../shared/core/listen.ts';
import type { GatewayOptions } from './app.ts';
import { createConsulApp } from './app.ts';
import { textResponse } from './exchange.ts';
import { refusalOf } from './gate.ts';

export interface RunningGateway {
  readonly url: string;
  close(): Promise<void>;
}

interface ServerOptions extends Omit<GatewayOptions, 'closing'> {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
}

/** @throws ConfigurationError if it would be open to other machines, or if the address is not available */
export async function startGateway({ host, port, ...options }: ServerOptions): Promise<RunningGateway> {
  if (options.tokens === undefined && !isLoopbackHost(host))
    throw new ConfigurationError(
      `host ${host} is not loopback, and there are no tokens: every caller that reaches it ` +
        'could do everything; pass --tokens, or listen on 127.0.0.1',
    );
  const closing = new AbortController();
  const app = createConsulApp({ ...options, closing: closing.signal });
  const guarded: typeof app.fetch = async (request, bindings) => {
    const refusal = options.tokens === undefined ? refusalOf(request) : undefined;
    return refusal === undefined ? app.fetch(request, bindings) : textResponse(403, refusal);
  };
  const server = createAdaptorServer({ fetch: writesFirst(guarded), overrideGlobalObjects: false }) as Server;
  const refusal = (code: string): string =>
    `cannot listen on ${host} port ${port} (${code}): use another --host or --port`;
  const { address, port: taken } = await listen(server, { host, port, refusal });
  return {
    url: `http://${isIP(address) === 6 ? `[${address}]` : address}:${taken}`,
    async close() {
      closing.abort();
      await close(server);
    },
  };
}

/** Reads that begin in one pass of the event loop: each step of a write waits for these at most. */
const READS_A_PASS = 8;

/** Begins writes and renewals as they arrive, and reads in order of arrival, a few in each pass of the event loop. */
export function writesFirst<Rest extends unknown[]>(
  serve: (request: Request, ...rest: Rest) => Promise<Response>,
): typeof serve {
  const waiting: (() => void)[] = [];
  const pass = (): void => {
    for (const begin of waiting.splice(0, READS_A_PASS)) begin();
    if (waiting.length > 0) setImmediate(pass);
  };
  return async (request, ...rest) => {
    if (request.method === 'GET') {
      if (waiting.length === 0) setImmediate(pass);
      const turn = Promise.withResolvers<undefined>();
      waiting.push(() => turn.resolve(undefined));
      await turn.promise;
    }
    return serve(request, ...rest);
  };
}
