/** Servers of local processes: where they listen, and how they end. */
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { LOOPBACK, close, listen } from '../../../shared/core/listen.ts';

const refusal = (code: string): string => `not there: ${code}`;

test('a server that is closed ends its requests in flight', async () => {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => asked.resolve(response));
  const { port } = await listen(server, { host: LOOPBACK, port: 0, refusal });
  const answer = fetch(`http://${LOOPBACK}:${port}`).then(
    ({ status }) => status,
    () => 'broken off',
  );
  const response = await asked.promise;

  const closed = close(server);
  response.end('too late');

  expect(await answer).toBe('broken off');
  await closed;
});

test('an address that is taken is refused by its code', async () => {
  const [first, second] = [createServer(), createServer()];
  const { port } = await listen(first, { host: LOOPBACK, port: 0, refusal });

  await expect(listen(second, { host: LOOPBACK, port, refusal })).rejects.toThrow('not there: EADDRINUSE');
  await close(first);
});
