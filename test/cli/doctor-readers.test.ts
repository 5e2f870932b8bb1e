import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { LambdaClient, ListEventSourceMappingsCommand } from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Mapping } from '../../cli/doctor/mappings.ts';
import { listMappings } from '../../cli/doctor/mappings.ts';
import { judgeReaders } from '../../cli/doctor/readers.ts';
import { systemClock as clock } from '../../shared/core/runtime/clock.ts';

const TABLE_ARN = 'arn:aws:dynamodb:us-east-1:123456789012:table/media';
const LATEST = `${TABLE_ARN}/stream/2026-11-24T20:00:00.000`;
const EARLIER = `${TABLE_ARN}/stream/2026-10-01T08:00:00.000`;
const table = { TableArn: TABLE_ARN, LatestStreamArn: LATEST };
const PAGE = 2;

/** Stands for Lambda's API: lists mappings by their stream, two to a page. */
describe('the readers of a stream', () => {
  let server: Server;
  let endpoint: string;
  let mappings: readonly Mapping[] = [];
  let refusal: string | undefined;
  let requests: IncomingMessage[] = [];
  const client = new DynamoDBClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'token' },
  });

  beforeAll(async () => {
    server = createServer((request, response) => {
      requests.push(request);
      const query = new URL(request.url ?? '', endpoint).searchParams;
      const wanted = query.get('EventSourceArn');
      const all = mappings.filter(({ EventSourceArn }) => wanted === null || EventSourceArn === wanted);
      const from = Number(query.get('Marker') ?? 0);
      const NextMarker = from + PAGE < all.length ? String(from + PAGE) : null;
      response.statusCode = refusal === undefined ? 200 : 403;
      response.end(refusal ?? JSON.stringify({ EventSourceMappings: all.slice(from, from + PAGE), NextMarker }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    client.destroy();
    server.close();
    server.closeAllConnections();
  });
  beforeEach(() => {
    [mappings, refusal, requests] = [[], undefined, []];
  });

  const caller = () => ({ client, variables: { AWS_ENDPOINT_URL_LAMBDA: endpoint }, clock });
  const judge = () => judgeReaders(table, caller());
  const mapping = (changes: Partial<Mapping> = {}): Mapping => ({
    UUID: 'uuid-1',
    EventSourceArn: LATEST,
    FunctionArn: 'arn:aws:lambda:us-east-1:123456789012:function:media-waker',
    State: 'Enabled',
    LastProcessingResult: 'OK',
    ...changes,
  });

  test('are sound if an enabled mapping reads the latest', async () => {
    mappings = [mapping()];

    expect(await judge()).toMatchObject({ health: 'ok', found: 'media-waker reads the latest' });
  });

  test('are broken if the mapping reads an earlier stream, among mappings of other streams on several pages', async () => {
    const others = [1, 2, 3].map((n) => mapping({ UUID: `other-${n}`, EventSourceArn: `${TABLE_ARN}-${n}/stream/x` }));
    mappings = [...others, mapping({ EventSourceArn: EARLIER })];

    const finding = await judge();

    expect(finding.health).toBe('broken');
    expect(finding.remedy).toContain('wakeOnEnqueue: false');
    expect(finding.found).toBe(
      `media-waker reads ${EARLIER}, and the latest is ${LATEST}: tasks wait for the next tick`,
    );
  });

  test('are broken if the mapping is disabled, with the command that enables it', async () => {
    mappings = [mapping({ State: 'Disabled' })];

    expect(await judge()).toMatchObject({
      health: 'broken',
      found: 'the mapping of media-waker is Disabled: tasks wait for the next tick',
      remedy: 'aws lambda update-event-source-mapping --uuid uuid-1 --enabled',
    });
  });

  test.each([
    ['Creating', 'ok'],
    ['Enabling', 'ok'],
    ['Enabled', 'ok'],
    ['Updating', 'ok'],
    ['Disabling', 'broken'],
    ['Disabled', 'broken'],
    ['Deleting', 'broken'],
  ])('whose mapping is %s: %s', async (State, health) => {
    mappings = [mapping({ State })];

    expect(await judge()).toMatchObject({ health });
  });

  test('are a warning if Lambda cannot invoke the function', async () => {
    mappings = [mapping({ LastProcessingResult: 'PROBLEM: Function call failed' })];

    expect(await judge()).toMatchObject({
      health: 'warning',
      found: 'media-waker reads the latest, and Lambda reports PROBLEM: Function call failed',
    });
  });

  test('are unknown if there are none: workers may run elsewhere', async () => {
    const { health, found } = await judge();

    expect(health).toBe('unknown');
    expect(found).toContain('no function reads it');
  });

  test('are not guessed if Lambda refuses', async () => {
    refusal = '{"Message":"is not authorized to perform: lambda:ListEventSourceMappings"}';

    await expect(judge()).rejects.toThrow(/Lambda answered 403: .*not authorized to perform/);
  });

  test('are asked for as by the client of AWS', async () => {
    await using stack = new AsyncDisposableStack();
    const theirs = new LambdaClient({ region: 'us-east-1', endpoint, credentials: client.config.credentials });
    stack.defer(() => theirs.destroy());
    await theirs.send(new ListEventSourceMappingsCommand({ EventSourceArn: LATEST, MaxItems: 100 }));
    await listMappings(caller(), { EventSourceArn: LATEST });

    const [by, own] = requests.map(({ method, url, headers }) => ({
      method,
      path: new URL(url ?? '', endpoint).pathname,
      query: [...new URL(url ?? '', endpoint).searchParams].sort(),
      token: headers['x-amz-security-token'],
      scope: /\/(us-east-1\/\w+\/aws4_request),/.exec(headers.authorization ?? '')?.[1],
    }));
    expect(own).toEqual(by);
  });
});
