/**
 * Delivers every request twice, and hands on one of the two answers:
 * what some runtimes and proxies do to a request on a connection that they
 * used before.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TwiceProxy extends AsyncDisposable {
  readonly endpoint: string;
  readonly delivered: number;
}

interface TwiceOptions {
  /** Which of the two answers its sender sees. */
  readonly answer: 'first' | 'second';
  /** Whether nothing of others arrives between the two. */
  readonly inARow: boolean;
}

export async function startTwiceProxy(engine: string, { answer: shown, inARow }: TwiceOptions): Promise<TwiceProxy> {
  let delivered = 0;
  let last: Promise<unknown> = Promise.resolve();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      last = inARow ? last.then(() => deliver(body)) : deliver(body);
    });
    const deliver = async (body: Buffer): Promise<void> => {
      const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
      const send = async () => {
        delivered++;
        const answer = await fetch(engine, { method: 'POST', headers: headers as Record<string, string>, body });
        return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
      };
      try {
        const [first, second] = [await send(), await send()];
        const answer = shown === 'first' ? first : second;
        response.writeHead(answer.status, Object.fromEntries(kept(answer.headers)));
        response.end(answer.body);
      } catch {
        response.destroy();
      }
    };
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    get delivered() {
      return delivered;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function kept(headers: Headers): [string, string][] {
  return [...headers].filter(
    ([name]) => !['connection', 'keep-alive', 'transfer-encoding', 'content-length'].includes(name),
  );
}
