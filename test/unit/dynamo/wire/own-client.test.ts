/** A user's client: its parts that apply to our requests, and its own calls, which do not change. */
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLeasehold } from '../../../../shared/client/leasehold.ts';
import { connectDynamo } from '../../../../shared/dynamo/connect.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { STATIC_CREDENTIALS } from '../../../support/drivers.ts';
import type { FaultServer } from '../../../support/fault-server.ts';
import { answer, serviceError, startFaultServer } from '../../../support/fault-server.ts';

const GET = { TableName: 'table', Key: { pk: 'a' } };
const soon = (): AbortSignal => AbortSignal.timeout(20_000);

let server: FaultServer;
let client: DynamoDBClient;
beforeEach(async () => {
  server = await startFaultServer();
  const settings = { region: 'eu-west-1', credentials: STATIC_CREDENTIALS, maxAttempts: 3 };
  client = new DynamoDBClient({ endpoint: server.endpoint, ...settings });
  client.middlewareStack.add(
    (next) => (args) => {
      Object.assign((args.request as { readonly headers: object }).headers, { 'x-theirs': 'yes' });
      return next(args);
    },
    { step: 'build', name: 'theirs' },
  );
});
afterEach(async () => {
  client.destroy();
  await server[Symbol.asyncDispose]();
});

const attempt = (given: DynamoDBClient | DynamoDBDocumentClient): Promise<unknown> =>
  connectDynamo({ client: given }, systemRuntime).driver.attempt('get', GET, soon());

test.each(['DynamoDBClient', 'DynamoDBDocumentClient'])(
  'a %s sends our requests with its middleware and without its retries, which its other calls keep',
  async (name) => {
    const given = name === 'DynamoDBClient' ? client : DynamoDBDocumentClient.from(client);
    const stack = client.middlewareStack.identify();
    server.behave(serviceError('InternalServerError', { status: 500 }));

    await expect(attempt(given)).rejects.toMatchObject({ kind: 'unanswered', code: 'InternalServerError' });
    expect(server.received.map((received) => received.header('x-theirs'))).toEqual(['yes']);

    const theirs = client.send(new GetItemCommand({ TableName: 'table', Key: { pk: { S: 'a' } } }));
    await expect(theirs).rejects.toThrow();
    expect(server.received).toHaveLength(1 + 3);
    expect(client.middlewareStack.identify()).toEqual(stack);
  },
);

test('returns the first outcome to a middleware that resends, so nothing is sent twice', async () => {
  client.middlewareStack.add(
    (next) => async (args) => {
      await next(args).catch(() => undefined);
      return next(args);
    },
    { step: 'finalizeRequest', name: 'twice' },
  );
  server.behave((socket) => void socket.end(), answer());

  await expect(attempt(client)).rejects.toMatchObject({ kind: 'unanswered' });
  expect(server.received).toHaveLength(1);
});

test('close leaves the client open, with its connections', async () => {
  server.behave(answer());
  const connection = connectDynamo({ client }, systemRuntime);
  await connection.driver.attempt('get', GET, soon());

  connection.close();
  await client.send(new GetItemCommand({ TableName: 'table', Key: { pk: { S: 'a' } } }));

  expect([server.received.length, server.connections]).toEqual([2, 1]);
});

describe('createLeasehold and createWorker', () => {
  test('take no endpoint from the environment for a client, which knows its own', () => {
    vi.stubEnv('LEASEHOLD_ENDPOINT', 'http://127.0.0.1:9');

    expect(() => createLeasehold({ client })).not.toThrow();
    vi.unstubAllEnvs();
  });

  test.each<[string, () => unknown]>([
    ['settings', () => ({ region: 'eu-west-1' })],
    ['nothing', () => null],
    ['a client of another service', () => new S3Client({ region: 'eu-west-1' })],
  ])('refuse %s', (_what, make) => {
    expect(() => createLeasehold({ client: make() as never })).toThrow(
      /^client must be a DynamoDBClient or a DynamoDBDocumentClient of a current AWS SDK, version 3: update/,
    );
  });

  test('refuse a client of an SDK that is too old for our commands', () => {
    client.middlewareStack.remove('serializerMiddleware');

    expect(() => createLeasehold({ client })).toThrow(/^client must be a DynamoDBClient .* of a current AWS SDK/);
  });
});
