/** Lambda's Invoke API, as far as a function needs it that starts others: it takes the event, and remembers it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface InvokeServer extends AsyncDisposable {
  readonly endpoint: string;
  readonly invoked: readonly { readonly functionName: string; readonly event: unknown }[];
  /** Answers the next calls with an error. `taken`: how many calls still succeed before that. */
  fail(taken?: number): void;
  /** Answers each call for this function with an error. */
  refuse(functionName: string): void;
}

export async function openInvokeServer(): Promise<InvokeServer> {
  const invoked: { functionName: string; event: unknown }[] = [];
  const refused = new Set<string>();
  let taken = Infinity;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
    });
    request.on('end', () => {
      const [, functionName = ''] = /functions\/([^/]+)\/invocations/.exec(request.url ?? '') ?? [];
      const name = decodeURIComponent(functionName);
      invoked.push({ functionName: name, event: JSON.parse(String(Buffer.concat(chunks))) });
      if (taken-- > 0 && !refused.has(name)) response.writeHead(202, { 'content-type': 'application/json' }).end('{}');
      else response.writeHead(403, { 'x-amzn-errortype': 'AccessDeniedException' }).end('{"Message":"you may not"}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    invoked,
    fail(first = 0) {
      taken = first;
    },
    refuse: (functionName) => void refused.add(functionName),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
