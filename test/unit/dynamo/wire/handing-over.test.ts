/** What the wire driver leaves to the SDK. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectDynamo } from '../../../../shared/dynamo/connect.ts';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { STATIC_CREDENTIALS, openWireDriver } from '../../../support/drivers.ts';
import type { FaultServer } from '../../../support/fault-server.ts';
import { answer, serviceError, startFaultServer } from '../../../support/fault-server.ts';

const GET = { TableName: 'table', Key: { pk: 'a' } };
const soon = (): AbortSignal => AbortSignal.timeout(20_000);

describe('a signature that the service does not understand', () => {
  let server: FaultServer;
  beforeAll(async () => {
    server = await startFaultServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const sdk: DynamoDriver = { attempt: () => Promise.resolve({ Item: { pk: 'by the SDK' } } as never) };

  test.each([
    ['InvalidSignatureException', 'The request signature we calculated does not match'],
    ['IncompleteSignatureException', 'Authorization header requires Signature'],
    ['MissingAuthenticationTokenException', 'Missing Authentication Token'],
    ['UnrecognizedClientException', 'The security token included in the request is invalid.'],
  ])('(%s) hands all that follows to the SDK, with one warning', async (type, message) => {
    server.behave(serviceError(type, { message, date: new Date() }));
    const warnings: string[] = [];
    const from = server.received.length;
    using driver = openWireDriver({
      endpoint: server.endpoint,
      successor: sdk,
      warn: (text) => void warnings.push(text),
    });

    const first = await Promise.allSettled([driver.attempt('get', GET, soon()), driver.attempt('get', GET, soon())]);

    expect(first).toMatchObject(Array(2).fill({ reason: { kind: 'unverified', applied: 'no' } }));
    expect(await driver.attempt('get', GET, soon())).toEqual({ Item: { pk: 'by the SDK' } });
    expect(server.received.length - from).toBe(2);
    expect(warnings).toEqual([expect.stringContaining(type)]);
  });

  test("is followed by one of the SDK's own signer", async () => {
    server.behave(serviceError('InvalidSignatureException', { message: 'wrong', date: new Date() }), answer());
    const from = server.received.length;
    const connection = connectDynamo({ endpoint: server.endpoint }, systemRuntime);
    const { driver, openClient } = connection;

    await expect(driver.attempt('get', GET, soon())).rejects.toMatchObject({ kind: 'unverified' });
    await driver.attempt('get', GET, soon());

    const plain = new DynamoDBClient({ region: 'eu-west-1', credentials: STATIC_CREDENTIALS });
    const theirs = await plain.config.signer();
    expect((await (await openClient()).config.signer()).constructor).toBe(theirs.constructor);
    const agents = server.received.slice(from).map((request) => request.header('user-agent'));
    expect(agents).toEqual([undefined, expect.stringContaining('aws-sdk-js')]);
    connection.close();
  });

  test('stays a refusal where there is no SDK', async () => {
    server.behave(serviceError('InvalidSignatureException', { message: 'wrong', date: new Date() }));
    using driver = openWireDriver({ endpoint: server.endpoint });

    await expect(driver.attempt('get', GET, soon())).rejects.toMatchObject({ kind: 'rejected' });
  });

  test('is not what an expired token is', async () => {
    server.behave(serviceError('ExpiredTokenException'));
    using driver = openWireDriver({ endpoint: server.endpoint, successor: sdk });

    await expect(driver.attempt('get', GET, soon())).rejects.toMatchObject({ kind: 'rejected' });
  });

  test('a table that is named by its ARN has the host of its account, which the SDK knows', async () => {
    server.behave(answer());
    const from = server.received.length;
    using driver = openWireDriver({ endpoint: server.endpoint, successor: sdk });
    const TableName = 'arn:aws:dynamodb:eu-west-1:123456789012:table/orders';

    await driver.attempt('get', { ...GET, TableName }, soon());
    await driver.attempt('transactWrite', { TransactItems: [{ Delete: { ...GET, TableName } }] }, soon());
    await driver.attempt('batchGet', { RequestItems: { [TableName]: { Keys: [GET.Key] } } }, soon());

    expect(server.received.length).toBe(from);
  });
});

test('a transaction without a token of its own is given one, so that it bears being delivered twice', async () => {
  await using server = await startFaultServer();
  server.behave(answer());
  using driver = openWireDriver({ endpoint: server.endpoint });
  const TransactItems = [{ Put: { TableName: 'table', Item: { pk: 'a' } } }];

  await driver.attempt('transactWrite', { TransactItems }, soon());
  await driver.attempt('transactWrite', { TransactItems, ClientRequestToken: 'mine' }, soon());

  const tokens = server.received.map(
    ({ body }) => (JSON.parse(body) as { ClientRequestToken: string }).ClientRequestToken,
  );
  expect(tokens).toEqual([expect.stringMatching(/^[\da-f-]{36}$/), 'mine']);
});
