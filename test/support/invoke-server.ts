/** Lambda's Invoke API, as far as a function needs it that starts others: it takes the event, and remembers it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface InvokeServer extends AsyncDisposable {
  readonly endpoint: string;
  readonly invoked: readonly { readonly functionName: string; readonly event: unknown }[];
  /** Answers the next calls with an error. */
  fail(): void;
}

export async function openInvokeServer(): Promise<InvokeServer> {
  const invoked: { functionName: string; event: unknown }[] = [];
  let isFailing = false;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
    });
    request.on('end', () => {
      const [, functionName = ''] = /functions\/([^/]+)\/invocations/.exec(request.url ?? '') ?? [];
      invoked.push({
        functionName: decodeURIComponent(functionName),
        event: JSON.parse(String(Buffer.concat(chunks))),
      });
      response.writeHead(isFailing ? 429 : 202, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    invoked,
    fail() {
      isFailing = true;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
