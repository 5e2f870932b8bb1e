/** A store of objects over HTTP, as far as S3's clients need one to put, get and delete. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ObjectServer extends AsyncDisposable {
  readonly endpoint: string;
  readonly objects: ReadonlyMap<string, { readonly body: string; readonly type: string | undefined }>;
  /** Takes every request from now on, and answers none. */
  fallSilent(): void;
}

const NO_SUCH_KEY = '<?xml version="1.0"?><Error><Code>NoSuchKey</Code><Message>it is not there</Message></Error>';

export async function openObjectServer(): Promise<ObjectServer> {
  const objects = new Map<string, { body: string; type: string | undefined }>();
  let isSilent = false;
  const server = createServer((request, response) => {
    if (isSilent) return;
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
    });
    request.on('end', () => {
      const object = objects.get(path);
      if (request.method === 'PUT') {
        const body = decoded(Buffer.concat(chunks), request.headers['content-encoding']);
        objects.set(path, { body, type: request.headers['content-type'] });
        response.end();
      } else if (request.method === 'DELETE') {
        objects.delete(path);
        response.writeHead(204).end();
      } else if (object === undefined) {
        response.writeHead(404, { 'content-type': 'application/xml' }).end(NO_SUCH_KEY);
      } else {
        response.end(object.body);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    fallSilent() {
      isSilent = true;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Clients that sign as they send cut a body into chunks, each with its length before it. */
function decoded(body: Buffer, encoding: string | undefined): string {
  if (encoding?.includes('aws-chunked') !== true) return body.toString();
  let text = '';
  for (let at = 0; at < body.length;) {
    const lineEnd = body.indexOf('\r\n', at);
    const length = Number.parseInt(body.toString('latin1', at, lineEnd), 16);
    if (length === 0) break;
    text += body.toString('utf8', lineEnd + 2, lineEnd + 2 + length);
    at = lineEnd + 2 + length + 2;
  }
  return text;
}
