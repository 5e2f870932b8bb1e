/**
 * Lambda's Invoke API as its own SDK client speaks it.
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { InvokeCommandInput } from '@aws-sdk/client-lambda';
import {
  InvokeCommand,
  LambdaClient,
  ResourceNotFoundException,
  TooManyRequestsException,
} from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LocalLambda } from '../../examples/platform/lambda/local-lambda.ts';
import { LambdaEvents } from '../support/lambda-events.ts';

const handlers = path.join(import.meta.dirname, '../support/handlers');
const settings = { timeoutMs: 600_000, memoryMb: 128, environment: {} };
const events = new LambdaEvents();
const lambda = new LocalLambda({
  functions: {
    count: { ...settings, entry: path.join(handlers, 'counter.ts') },
    single: { ...settings, entry: path.join(handlers, 'misbehave.ts'), maxConcurrency: 1 },
  },
  onEvent: events.record,
});
let client: LambdaClient;

beforeAll(async () => {
  await lambda.start();
  client = new LambdaClient({
    endpoint: lambda.endpoint,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  });
});

afterAll(async () => {
  client.destroy();
  await lambda.stop();
});

const invoke = (input: InvokeCommandInput) => client.send(new InvokeCommand(input));
const parsed = (payload: { transformToString(): string } | null | undefined): unknown =>
  JSON.parse(payload?.transformToString() ?? 'null');

describe('a refusal', () => {
  test.each([
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { host: 'evil.example' },
    { host: '127.0.0.1.evil.example:8000' },
  ])('answers 403 to a web page, and to a foreign name: %o', async (headers) => {
    const asked = request(`${lambda.endpoint}/2015-03-31/functions/count/invocations`, { method: 'POST', headers });
    asked.end('{}');
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];

    expect(answer.statusCode).toBe(403);
    expect(await text(answer)).toContain('this server answers programs of this machine');
  });

  test('answers 404 for an unknown function', async () => {
    const error = await invoke({ FunctionName: 'nobody' }).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(ResourceNotFoundException);
    expect(error).toMatchObject({
      message: 'Function not found: arn:aws:lambda:us-east-1:000000000000:function:nobody',
      $metadata: { httpStatusCode: 404 },
    });
  });

  test('answers 429 for lack of concurrency, with the reason and when to retry', async () => {
    const earlier = new Set(events.of('invocationStarted'));
    const working = invoke({ FunctionName: 'single', Payload: '{"act":"wait","ms":1}' });
    const { environmentId } = await events.until('invocationStarted', (event) => !earlier.has(event));
    // It must still run when the second call arrives, even if that is late.
    lambda.freeze(environmentId);

    const error = await invoke({ FunctionName: 'single', Payload: '{}' }).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(TooManyRequestsException);
    expect(error).toMatchObject({
      message: 'Rate Exceeded.',
      Reason: 'ReservedFunctionConcurrentInvocationLimitExceeded',
      retryAfterSeconds: '1',
      $metadata: { httpStatusCode: 429 },
    });
    lambda.thaw(environmentId);
    expect(parsed((await working).Payload)).toEqual({ waitedMs: 1 });
  });
});
