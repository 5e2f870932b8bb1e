/** Options that cannot both hold: each pair is refused where it is given, before anything is sent, with a message that names both. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { describe, expect, test } from 'vitest';
import type { Environment } from '../../functions/env.ts';
import { parseDispatchEnv, parseWakeEnv, parseWorkEnv } from '../../functions/env.ts';
import { createLeasehold } from '../../shared/client/leasehold.ts';
import type { LeaseholdOptions } from '../../shared/client/leasehold.ts';
import { schedulesOf } from '../../shared/client/schedules-of.ts';
import { defineTask } from '../../shared/tasks/task/definition.ts';
import type { RetryOptions } from '../../shared/tasks/task/definition.ts';
import type { EnqueueOptions } from '../../shared/tasks/task/task-request.ts';
import { spawn } from '../../shared/tasks/task/task-request.ts';

const SENT = 'something was sent';
const client = (): DynamoDBClient => {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const own = new DynamoDBClient({ region: 'local', endpoint: 'http://127.0.0.1:9', credentials });
  own.send = () => Promise.reject(new Error(SENT));
  return own;
};
const leasehold = createLeasehold({ client: client() });

const refused = async (act: () => unknown, message: RegExp): Promise<void> => {
  const outcome = await (async () => act())().catch((error: unknown) => error);
  expect(outcome).toMatchObject({ name: 'ConfigurationError', message: expect.stringMatching(message) as string });
};

test.each<[RetryOptions, RegExp]>([
  [{ maxAttempts: 3, maxDeaths: 4 }, /maxDeaths = 4 is more than retry\.maxAttempts = 3/],
  [{ backoff: '1m', backoffCap: '1s' }, /backoffCap = 1000 ms is below retry\.backoff = 60000 ms/],
])('a definition with retry %j', (retry, message) =>
  refused(() => defineTask({ name: 't', retry, run: () => null }), message),
);

describe('a task', () => {
  const id = 'a';
  test.each<[EnqueueOptions, RegExp]>([
    [{ limit: 2 }, /limit and rate require a key/],
    [{ rate: { count: 1, per: '1m' } }, /limit and rate require a key/],
    [{ ordered: true }, /ordered requires a key/],
    [{ ordered: true, key: 'k', limit: 2 }, /limit = 2 cannot be combined with ordered/],
    [{ ordered: true, key: 'k', id, onDuplicate: 'replace' }, /onDuplicate = replace cannot be combined with ordered/],
    [{ ordered: true, key: 'k', id, onDuplicate: 'debounce', delay: '1s' }, /onDuplicate = debounce cannot be/],
    [{ onDuplicate: 'keep' }, /onDuplicate and window require an id/],
    [{ onDuplicate: 'replace' }, /onDuplicate and window require an id/],
    [{ window: '1h' }, /onDuplicate and window require an id/],
    [{ id, onDuplicate: 'debounce' }, /onDuplicate = 'debounce' requires a delay/],
    [{ id, onDuplicate: 'replace', window: '1h' }, /window and onDuplicate = replace are both given/],
    [{ id, onDuplicate: 'debounce', delay: '1s', window: '1h' }, /window and onDuplicate = debounce are both given/],
    [{ delay: '1h', expires: new Date() }, /expires = .* is not after the task is due/],
    [{ delay: '2027-06-01T00:00:00Z', expires: '2027-05-01T00:00:00Z' }, /expires = .* is not after the task is due/],
  ])('with %j', (options, message) => refused(() => leasehold.tasks.enqueue('t', null, options), message));
});

test.each<[LeaseholdOptions, RegExp]>([
  [{ client: client(), endpoint: 'http://127.0.0.1:8000' }, /client and endpoint are mutually exclusive/],
  [{ client: client(), region: 'eu-west-1' }, /client and region are mutually exclusive/],
  [{ client: client(), clientConfig: {} }, /client and clientConfig are mutually exclusive/],
  [{ endpoint: 'http://db.example', allowHttp: false }, /is http: to another machine.*allowHttp/],
])('a client, case %#', (options, message) => refused(() => createLeasehold(options), message));

describe('the environment of a function', () => {
  const dispatch = { LEASEHOLD_TABLE: 'leases', LEASEHOLD_WORKER_FUNCTION: 'w' };
  const ofMail = JSON.stringify([['s', 't', null, { cron: '0 3 * * *', queue: 'mail' }]]);
  const queues = JSON.stringify(['mail', 'mail'].map((queue) => ({ queue, workerFunction: 'w' })));
  test.each<[(env: Environment) => unknown, Environment, RegExp]>([
    [
      parseWorkEnv,
      { LEASEHOLD_SESSION_TTL_MS: '20000', LEASEHOLD_HEARTBEAT_MS: '7000' },
      /ttl = 20000 ms is less than/,
    ],
    [parseWorkEnv, { LEASEHOLD_HEARTBEAT_MS: '15000' }, /ttl = 30000 ms is less than three times heartbeat = 15000 ms/],
    [
      parseWorkEnv,
      { LEASEHOLD_SESSION_TTL_MS: '5000', LEASEHOLD_MAX_CLOCK_SKEW_MS: '6000' },
      /MAX_CLOCK_SKEW_MS = 6000 is longer than LEASEHOLD_SESSION_TTL_MS = 5000/,
    ],
    [
      parseWorkEnv,
      { LEASEHOLD_LINGER_MS: '895000', LEASEHOLD_DEADLINE_MARGIN_MS: '5001' },
      /LINGER_MS = 895000 and LEASEHOLD_DEADLINE_MARGIN_MS = 5001 are together longer/,
    ],
    [
      parseDispatchEnv,
      { LEASEHOLD_QUEUE: 'media', LEASEHOLD_SCHEDULES: ofMail },
      /schedule s: queue = "mail", and the dispatcher serves queue "media"/,
    ],
    [parseWakeEnv, { LEASEHOLD_WAKE_QUEUES: queues }, /LEASEHOLD_WAKE_QUEUES names queue mail twice/],
  ])('%O with %j', (parse, env, message) => refused(() => parse({ ...dispatch, ...env }), message));
});

describe('a schedule', () => {
  const CRON = '0 3 * * *';
  test.each([
    [
      { cron: CRON, startAt: Date.UTC(2030, 1, 1), endAt: Date.UTC(2029, 1, 1) },
      /no occurrence from startAt = 2030.* to endAt/,
    ],
    [{ cron: '0 0 30 2 *' }, /no such day exists/],
    [{ cron: CRON, key: 'k', ordered: true, overlap: 'skip' }, /overlap = skip and ordered are both given/],
    [{ cron: CRON, key: 'k', ordered: true, overlap: 'allow' }, /overlap = allow and ordered are both given/],
    [{ cron: CRON, ordered: true }, /ordered requires a key/],
    [{ cron: CRON, limit: 2 }, /limit and rate require a key/],
  ] as const)('with %j', (options, message) =>
    refused(() => schedulesOf(leasehold).define('s', 't', null, options), message),
  );
});

test('tokens that the bucket never holds', () =>
  refused(
    () => leasehold.rateLimiter('r', { rate: 1, per: '1s', burst: 2 }).take('k', { tokens: 3 }),
    /tokens = 3 is more than burst = 2/,
  ));

test('two children of a batch with one id', () =>
  refused(
    () => leasehold.tasks.enqueueBatch([spawn('t', 1, { id: 'x' }), spawn('t', 2, { id: 'x' })], { id: 'b' }),
    /two children of batch b have the same id/,
  ));
