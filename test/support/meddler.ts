/** A way to the engine on which each request can be met first: by a rival that writes before it arrives, or by an answer of its own. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Met {
  /** As the service names it: `UpdateItem`. */
  readonly operation: string;
  readonly body: {
    readonly Key?: Readonly<Record<string, { readonly S: string }>>;
    readonly UpdateExpression?: string;
  };
}

export interface Meddler extends AsyncDisposable {
  readonly endpoint: string;
  /** What every request meets from now on. Resolves to the type of the error that answers it, or to nothing: then it goes on. */
  meddle(how: (met: Met) => Promise<string | undefined> | undefined): void;
}

export async function openMeddler(upstream: string): Promise<Meddler> {
  let how: Parameters<Meddler['meddle']>[0] = () => undefined;
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const body = Buffer.concat((await incoming.toArray()) as Buffer[]);
      const operation = String(incoming.headers['x-amz-target']).split('.')[1] ?? '';
      const refusal = await how({ operation, body: JSON.parse(body.toString()) as Met['body'] });
      const headers = { 'content-type': 'application/x-amz-json-1.0' };
      if (refusal !== undefined) {
        const __type = `com.amazonaws.dynamodb.v20120810#${refusal}`;
        outgoing.writeHead(400, headers).end(JSON.stringify({ __type, message: 'meddled with' }));
        return;
      }
      const sent = Object.entries(incoming.headers).filter(([name]) =>
        /^(x-amz-|authorization|content-type)/.test(name),
      );
      const answer = await fetch(upstream, { method: 'POST', headers: sent as [string, string][], body });
      outgoing.writeHead(answer.status, headers).end(Buffer.from(await answer.arrayBuffer()));
    })().catch((error: unknown) => outgoing.writeHead(500).end(String(error)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    meddle(next) {
      how = next;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
