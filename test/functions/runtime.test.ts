import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:http';
import { afterEach, expect, test, vi } from 'vitest';
import { connect } from '../../functions/runtime.ts';
import { createTaskStores } from '../../shared/client/task-stores.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

test('functions connect as every other client does: an emulator is not told their credentials', async () => {
  const authorizations: string[] = [];
  const server = createServer((request, response) => {
    authorizations.push(request.headers.authorization ?? '');
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  vi.stubEnv('AWS_REGION', 'eu-west-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'mine');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { queues } = connect({ table: 'leasehold', shards: 1, endpoint }, createTaskStores).open(createMeter());

  await queues.get('media');

  // On a busy machine it may have asked twice.
  expect(authorizations).not.toHaveLength(0);
  for (const authorization of authorizations) expect(authorization).toContain('Credential=local/');
  server.closeAllConnections();
  server.close();
});
