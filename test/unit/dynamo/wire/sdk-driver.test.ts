/** Requests that never leave: the caller learns of it, and of the remedy. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createSdkDriver } from '../../../../shared/dynamo/wire/sdk-driver.ts';
import { systemFault } from '../../../../shared/dynamo/wire/system-error.ts';
import { clientSettings } from '../../../../shared/dynamo/wire/sdk.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { takeTick } from '../../../../shared/tasks/rows/tick-statements.ts';
import { readSession } from '../../../../shared/session/row/session-statements.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';

/** The discard port: without a listener, and the system reports that at once. */
const NOBODY = 'http://127.0.0.1:9';
const CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' };
const NOWHERE = { endpoint: NOBODY, region: 'local', credentials: CREDENTIALS };
/** One attempt with all the time that a busy machine may need: the wait for another would be longer than the budget. */
const POLICY = { attemptTimeoutMs: 30_000, budgetMs: 30_000, backoff: { baseMs: 60_000, capMs: 60_000 } };
const runtime = { ...systemRuntime, random: { ...systemRuntime.random, next: () => 0.99 } };

function read(config: object): Promise<unknown> {
  const client = new DynamoDBClient({ ...config, ...clientSettings });
  const sender = new Sender({ driver: createSdkDriver(client), runtime, policy: POLICY });
  return sender.read(readSession('leasehold', 'mine'));
}

describe('a request that cannot be sent', () => {
  beforeEach(() => {
    for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
    vi.stubEnv('AWS_CONFIG_FILE', '/dev/null');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/dev/null');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  test('is not tried again without a region', async () => {
    await expect(read({ credentials: CREDENTIALS })).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringContaining('no AWS region is known: set AWS_REGION') as string,
    });
  });
});

test('uses as many connections as its client has sockets', async () => {
  const requestHandler = { httpAgent: { maxSockets: 7 }, connectionTimeout: 30_000 };
  const client = new DynamoDBClient({ ...NOWHERE, requestHandler, ...clientSettings });
  const driver = createSdkDriver(client);
  expect(driver.connections?.limit).toBe(50);

  const { kind, input } = readSession('leasehold', 'mine');
  await driver.attempt(kind, input, new AbortController().signal).catch(() => undefined);

  expect(driver.connections?.limit).toBe(7);
});

describe('a connection that fails at several addresses', () => {
  const failed = (syscall: string): Error =>
    Object.assign(new Error(`${syscall} failed`), { code: 'ETIMEDOUT', syscall });

  test.each([
    ['unsent', ['connect', 'connect']],
    ['unanswered', ['connect', 'write']],
    ['unanswered', ['write', 'connect']],
    ['unanswered', ['write', 'write']],
  ])('leaves the request %s if they failed at: %j', async (kind, syscalls) => {
    const requestHandler = { handle: () => Promise.reject(new AggregateError(syscalls.map(failed))) };
    const driver = createSdkDriver(new DynamoDBClient({ ...NOWHERE, ...clientSettings, requestHandler }));

    const attempted = driver.attempt('put', { TableName: 't', Item: { pk: 'a' } }, AbortSignal.timeout(20_000));

    await expect(attempted).rejects.toMatchObject({ kind });
  });
});

function circular(): object {
  const loop: Record<string, unknown> = {};
  return Object.assign(loop, { loop });
}

describe('a write with a value that cannot be stored', () => {
  const write = (Item: object): Promise<unknown> => {
    const client = new DynamoDBClient({ ...NOWHERE, ...clientSettings });
    const sender = new Sender({ driver: createSdkDriver(client), runtime, policy: POLICY });
    const tick = takeTick('leasehold', { schedule: 'tick', scheduledTime: '18' }, { by: 'me', now: 0, nonce: 'mine' });
    const TransactItems = [{ Put: tick.input }, { Put: { TableName: 'orders', Item } }];
    return sender.transact({ verb: 'task.commit', kind: 'transactWrite', input: { TransactItems } }, 'mine');
  };

  test.each([
    ['a date', { at: new Date(0) }, 'at = 1970-01-01T00:00:00.000Z cannot be stored: DynamoDB has no type for it'],
    ['no number', { n: [1, NaN] }, 'n[1] = NaN cannot be stored: Special numeric value NaN is not allowed'],
    [
      'a number too large',
      { a: { n: 2 ** 60 } },
      'a.n = 1152921504606847000 cannot be stored: Number 1152921504606847000 is',
    ],
    ['a value in a map', { m: new Map([['k', [NaN]]]) }, 'm.k[0] = NaN cannot be stored: Special numeric value NaN'],
    ['one behind what is left out', { n: [undefined, NaN] }, 'n[1] = NaN cannot be stored: Special numeric value NaN'],
    ['an empty set', { tags: new Set() }, 'tags = Set(0) {} cannot be stored: Pass a non-empty set'],
    ['a circle', { c: circular() }, ' cannot be stored: it is nested too deeply, or contains itself'],
  ])('says so, of %s, and sends nothing', async (_what, item, message) => {
    await expect(write({ pk: 'x', ...item })).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringMatching(
        /^task\.commit of .*: TransactItems\[1\]\.Put\.Item\..*; nothing was sent$/,
      ) as string,
    });
    await expect(write({ pk: 'x', ...item })).rejects.toThrow(message);
  });

  test('is distinguished from a value that could be stored but was refused', async () => {
    const storable = {
      tags: new Set(['a']),
      none: undefined,
      f: () => 1,
      big: 2n ** 60n,
      bytes: new Uint8Array(2),
      list: [null],
    };

    await expect(write(storable)).rejects.toMatchObject({ name: 'StoreUnavailableError', applied: 'no' });
  });
});

const refused = Object.assign(new Error('connect ECONNREFUSED ::1:80'), { code: 'ECONNREFUSED' });
const away = Object.assign(new Error('connect ENETUNREACH 10.0.0.1:80'), { code: 'ENETUNREACH' });

test.each<[string, Error, string, string]>([
  ['with a code', refused, 'ECONNREFUSED', 'connect ECONNREFUSED ::1:80'],
  ['without a code', new TypeError('odd'), 'TypeError', 'odd'],
  [
    'of several addresses',
    Object.assign(new AggregateError([refused, away], ''), { code: 'ECONNREFUSED' }),
    'ECONNREFUSED',
    'connect ECONNREFUSED ::1:80, connect ENETUNREACH 10.0.0.1:80',
  ],
])('an error of the system %s is a fault with its code and its text', (_what, error, code, message) => {
  for (const kind of ['unsent', 'unanswered'] as const)
    expect(systemFault(kind, error)).toMatchObject({ kind, code, message, cause: error });
});
