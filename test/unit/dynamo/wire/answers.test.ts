/**
 * Every driver's reading of every response: applied or not, to be retried or not.
 * Each row is a fault of some service, proxy or network.
 */
import { crc32, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DynamoCalls, DynamoKind } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import type { TestDriver } from '../../../support/drivers.ts';
import { DRIVERS } from '../../../support/drivers.ts';
import type { Behaviour, FaultServer } from '../../../support/fault-server.ts';
import { answer, answerBytes, serviceError, startFaultServer } from '../../../support/fault-server.ts';

const GET = { TableName: 'table', Key: { pk: 'a' } };
const PUT = { TableName: 'table', Item: { pk: 'a', nonce: 'mine' }, ConditionExpression: 'attribute_not_exists(pk)' };
const BATCH = { RequestItems: { table: { Keys: [{ pk: 'a' }] } } };
const TIMEOUT_MS = 20_000;

describe.each(DRIVERS)('the %s driver', (name, open) => {
  let server: FaultServer;
  let driver: TestDriver;
  beforeAll(async () => {
    server = await startFaultServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());
  beforeEach(() => {
    driver = open({ endpoint: server.endpoint });
  });
  afterEach(() => {
    driver[Symbol.dispose]();
  });

  async function outcome<K extends DynamoKind>(
    behaviour: Behaviour,
    kind: K = 'put' as K,
    input: DynamoCalls[K]['input'] = PUT,
  ): Promise<DynamoFault | DynamoCalls[K]['output']> {
    server.behave(behaviour);
    try {
      return await driver.attempt(kind, input, AbortSignal.timeout(TIMEOUT_MS));
    } catch (fault) {
      // Anything else has left the driver raw.
      if (!(fault instanceof DynamoFault)) throw fault;
      return fault;
    }
  }

  describe('reads an error as', () => {
    test.each([
      ['ConditionalCheckFailedException', 400, 'conditionFailed'],
      ['ConditionalCheckFailedException', 500, 'conditionFailed'],
      ['TransactionConflictException', 400, 'conflict'],
      ['TransactionInProgressException', 400, 'conflict'],
      ['ReplicatedWriteConflictException', 400, 'conflict'],
      ['ProvisionedThroughputExceededException', 400, 'throttled'],
      ['RequestLimitExceeded', 400, 'throttled'],
      ['ThrottlingException', 400, 'throttled'],
      ['ThrottlingException', 500, 'throttled'],
      ['Throttling', 400, 'throttled'],
      ['SlowDown', 503, 'throttled'],
      ['SlowDown', 400, 'throttled'],
      ['TooManyRequestsException', 429, 'throttled'],
      ['RequestThrottledException', 503, 'throttled'],
      ['AnythingElse', 429, 'throttled'],
      ['AccessDeniedException', 400, 'rejected'],
      ['ValidationException', 400, 'rejected'],
      ['SerializationException', 400, 'rejected'],
      ['ResourceNotFoundException', 400, 'rejected'],
      ['IdempotentParameterMismatchException', 400, 'rejected'],
      ['ItemCollectionSizeLimitExceededException', 400, 'rejected'],
      ['LimitExceededException', 400, 'rejected'],
      ['AnythingElse', 400, 'rejected'],
      ['InternalServerError', 500, 'unanswered'],
      ['ServiceUnavailable', 503, 'unanswered'],
      ['ValidationException', 500, 'unanswered'],
    ])('%s at %i: %s', async (type, status, kind) => {
      expect(await outcome(serviceError(type, { status }))).toMatchObject({ kind, code: type, message: 'no' });
    });

    test("reads throttling with the service's reasons: the limit, and the table or index", async () => {
      const ThrottlingReasons = [
        { reason: 'IndexWriteKeyRangeThroughputExceeded', resource: 'arn:aws:dynamodb:x:1:table/t/index/directory' },
      ];
      const body = JSON.stringify({ __type: 'ThrottlingException', message: 'slow down', ThrottlingReasons });

      expect(await outcome(answer({ status: 400, body }))).toMatchObject({
        kind: 'throttled',
        message: 'slow down (IndexWriteKeyRangeThroughputExceeded arn:aws:dynamodb:x:1:table/t/index/directory)',
      });
    });

    test.each([
      ['the bare name', { __type: 'ThrottlingException' }, {}],
      ['a namespace', { __type: 'com.amazon.coral.availability#ThrottlingException' }, {}],
      ['an address behind', { __type: 'a.b#ThrottlingException:http://internal.amazon.com/x#y' }, {}],
      ['a member code', { code: 'ThrottlingException' }, {}],
      ['a header', {}, { 'X-Amzn-ErrorType': 'ThrottlingException:http://internal.amazon.com/' }],
    ])('what it is, named by %s', async (_what, body, headers) => {
      expect(await outcome(answer({ status: 400, headers, body: JSON.stringify(body) }))).toMatchObject({
        kind: 'throttled',
        code: 'ThrottlingException',
      });
    });

    test.each([
      [403, 'rejected'],
      [407, 'rejected'],
      [413, 'rejected'],
      [408, 'unanswered'],
      [429, 'throttled'],
      [500, 'unanswered'],
      [502, 'unanswered'],
      [503, 'unanswered'],
      [504, 'unanswered'],
    ])("a proxy's page at %i: %s", async (status, kind) => {
      const fault = await outcome(answer({ status, headers: { 'content-type': 'text/html' }, body: '<h1>no</h1>' }));

      if (name === 'fetch' && status === 407) {
        // By its standard, `fetch` shows no such answer: to its caller the request just failed.
        expect(fault).toMatchObject({ kind: 'unanswered' });
        return;
      }
      expect(fault).toMatchObject({
        kind,
        code: `HTTP ${status}`,
        message: expect.stringContaining('<h1>no</h1>') as string,
      });
      if (kind === 'rejected') expect((fault as DynamoFault).message).toContain('a proxy perhaps');
    });

    test.each([301, 302, 303, 307, 308])('a redirect at %i, which is not followed', async (status) => {
      await using target = await startFaultServer();
      const before = server.received.length;

      const fault = await outcome(answer({ status, headers: { location: `${target.endpoint}/` }, body: '' }));

      expect(fault).toMatchObject({ kind: 'rejected', message: expect.stringContaining(target.endpoint) as string });
      expect([server.received.length - before, target.received.length]).toEqual([1, 0]);
    });
  });

  test('hands on the row that refused a write, and the reasons of a transaction', async () => {
    const Item = { pk: { S: 'a' }, nonce: { S: 'other' }, n: { N: '5' } };

    expect(await outcome(serviceError('ConditionalCheckFailedException', { Item }))).toMatchObject({
      item: { pk: 'a', nonce: 'other', n: 5 },
    });
    const CancellationReasons = [{ Code: 'None' }, { Code: 'ConditionalCheckFailed', Message: 'why', Item }, {}];
    expect(await outcome(serviceError('TransactionCanceledException', { CancellationReasons }))).toMatchObject({
      kind: 'transactionCanceled',
      reasons: [
        { code: 'None', item: undefined },
        { code: 'ConditionalCheckFailed', message: 'why', item: { pk: 'a', nonce: 'other', n: 5 } },
        { code: 'None' },
      ],
    });
  });

  test.each([
    ['an unknown type', { X: 'a' }],
    ['no type', {}],
    ['no text where the type promises some', { S: 5 }],
    ['no list where the type promises one', { L: {} }],
    ['nothing', null],
  ])('leaves open what became of a write that a row with %s refused', async (_what, pk) => {
    const behaviour = serviceError('ConditionalCheckFailedException', { Item: { pk } });

    expect(await outcome(behaviour)).toMatchObject({ kind: 'unanswered', applied: 'unknown' });
  });

  test.each<[string, unknown]>([
    ['1e400', expect.objectContaining({ value: '1e400' })],
    ['9'.repeat(132), BigInt('9'.repeat(132))],
    ['9007199254740992.5', expect.objectContaining({ value: '9007199254740992.5' })],
    ['0.1', 0.1],
    ['-0', -0],
    ['1e-7', 1e-7],
    ['abc', expect.objectContaining({ value: 'abc' })],
  ])('reads the number %s without losing the row', async (N, value) => {
    const output = await outcome(answer({ body: JSON.stringify({ Item: { pk: { S: 'a' }, n: { N } } }) }), 'get', GET);

    expect(output).toEqual({ Item: { pk: 'a', n: value } });
  });

  const rows = { body: '{"Item":{"pk":{"S":"a"}}}' };
  const sum = (body: string | Buffer): string => String(crc32(body));

  describe('takes for success only', () => {
    test('a whole object', async () => {
      expect(await outcome(answer(rows), 'get', GET)).toEqual({ Item: { pk: 'a' } });
      expect(await outcome(answer(), 'put')).toEqual({});
      expect(await outcome(answer({ body: '{}' }), 'batchGet', BATCH)).toEqual({});
    });

    test('one behind an interim answer, or in parts', async () => {
      const early: Behaviour = (socket) => {
        socket.write(Buffer.concat([Buffer.from('HTTP/1.1 102 Processing\r\n\r\n'), answerBytes(rows)]));
      };
      expect(await outcome(early, 'get', GET)).toEqual({ Item: { pk: 'a' } });
      const chunked: Behaviour = (socket) => {
        socket.write(
          `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n${rows.body.slice(0, 5)}\r\n` +
            `${(rows.body.length - 5).toString(16)}\r\n${rows.body.slice(5)}\r\n0\r\n\r\n`,
        );
      };
      expect(await outcome(chunked, 'get', GET)).toEqual({ Item: { pk: 'a' } });
    });

    test.each<[string, Parameters<typeof answer>[0]]>([
      ['nothing', { body: '' }],
      ['a list', { body: '[]' }],
      ['null', { body: 'null' }],
      ['a number', { body: '5' }],
      ['a page', { body: '<html>', headers: { 'content-type': 'text/html' } }],
      ['a byte order mark', { body: '\uFEFF{}' }],
      ['text behind it', { body: '{}x' }],
      ['an error by its content', { body: '{"__type":"ValidationException","message":"no"}' }],
      ['another checksum', { ...rows, headers: { 'x-amz-crc32': sum('other') } }],
      ['a cut archive', { body: gzipSync(rows.body).subarray(0, 20), headers: { 'content-encoding': 'gzip' } }],
      ['an unknown encoding', { ...rows, headers: { 'content-encoding': 'br' } }],
      ['no UTF-8', { body: Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]) }],
      ['no content', { status: 204, body: '' }],
      ['nothing new', { status: 304, body: '' }],
      ['a row that is no object', { body: '{"Item":"a"}' }],
      ['attributes that are no object', { body: '{"Attributes":[1]}' }],
    ])('not %s', async (_what, parts) => {
      for (const kind of ['put', 'get'] as const)
        expect(await outcome(answer(parts), kind, kind === 'put' ? PUT : GET)).toMatchObject({ kind: 'unanswered' });
    });
  });

  // `fetch` unpacks by itself, and shows no bytes as they were sent.
  test.skipIf(name === 'fetch')('takes no packed answer with another checksum for success', async () => {
    const headers = { 'content-encoding': 'gzip', 'x-amz-crc32': sum(rows.body) };

    expect(await outcome(answer({ body: gzipSync(rows.body), headers }), 'get', GET)).toMatchObject({
      kind: 'unanswered',
    });
  });

  test('tells the time of every answer that says it, errors included', async () => {
    const date = new Date('2026-11-22T10:00:00Z');
    await outcome(answer({ headers: { Date: date.toUTCString() } }));
    await outcome(serviceError('ValidationException', { date }));
    await outcome(answer({ headers: { Date: date.toUTCString(), Age: '5' } }));
    await outcome(answer());

    expect(driver.dates).toEqual([date.getTime(), date.getTime()]);
  });
});
