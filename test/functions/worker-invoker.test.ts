import { setImmediate } from 'node:timers/promises';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { lambdaEndpoint } from '../../functions/lambda-endpoint.ts';
import type { WorkerInvoker } from '../../functions/worker-invoker.ts';
import type { Behaviour, FaultServer } from '../support/fault-server.ts';
import { answer, startFaultServer } from '../support/fault-server.ts';

const EVENT = { queue: 'q', homeShards: [0] };
const SETTINGS = { attempts: 1, requestTimeoutMs: 20_000 };
const TRACE = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=a87bd80c:1';

describe('the starter', () => {
  let server: FaultServer;
  beforeEach(async () => {
    server = await startFaultServer();
    vi.stubEnv('AWS_ENDPOINT_URL_LAMBDA', server.endpoint);
    vi.stubEnv('AWS_REGION', 'us-east-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
    vi.stubEnv('AWS_SESSION_TOKEN', 'token');
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    vi.resetModules();
    await server[Symbol.asyncDispose]();
  });

  const accepted = answer({ status: 202, body: '' });

  /** In an environment like Lambda's, which the module reads at import. */
  async function createStarter(settings: Partial<typeof SETTINGS> = {}): Promise<WorkerInvoker> {
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'dispatcher');
    vi.resetModules();
    const module = await import('../../functions/worker-invoker.ts');
    return module.createStarter({ ...SETTINGS, ...settings });
  }

  test('invokes the function with an event, signed, and with the trace that stops circles of functions', async () => {
    server.behave(accepted);
    vi.stubEnv('_X_AMZN_TRACE_ID', TRACE);
    using starter = await createStarter();

    await starter.start('arn:aws:lambda:us-east-1:123456789012:function:worker:live', EVENT);

    const [received] = server.received;
    expect(received?.head).toMatch(
      /^POST \/2015-03-31\/functions\/arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Afunction%3Aworker%3Alive\/invocations HTTP\/1\.1\r\n/,
    );
    expect(received?.header('x-amz-invocation-type')).toBe('Event');
    expect(received?.header('x-amzn-trace-id')).toBe(TRACE);
    expect(received?.header('authorization')).toMatch(
      /^AWS4-HMAC-SHA256 Credential=test\/\d{8}\/us-east-1\/lambda\/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-invocation-type;x-amz-security-token, /,
    );
    expect(JSON.parse(received?.body ?? '')).toEqual(EVENT);
  });

  test('takes the trace of an environment with several invocations at a time from their store', async () => {
    server.behave(accepted);
    vi.stubEnv('_X_AMZN_TRACE_ID', 'of another invocation');
    vi.stubGlobal('awslambda', { InvokeStore: { getXRayTraceId: () => TRACE } });
    using starter = await createStarter();

    await starter.start('worker', EVENT);
    vi.unstubAllGlobals();

    expect(server.received[0]?.header('x-amzn-trace-id')).toBe(TRACE);
  });

  test('fails a start that Lambda reads and never answers when its time is over', async () => {
    server.behave(() => undefined);
    using starter = await createStarter({ requestTimeoutMs: 200 });

    await expect(starter.start('worker', EVENT)).rejects.toThrow(/^there was no (answer|connection) in time$/);
  });

  test.each<[string, Behaviour]>([
    ['is throttled', answer({ status: 429, headers: { 'x-amzn-errortype': 'TooManyRequestsException' }, body: '{}' })],
    ...[500, 502, 503, 504].map((status): [string, Behaviour] => [`is unwell (${status})`, answer({ status })]),
    ['hangs up', (socket) => void socket.end()],
  ])('tries again when Lambda %s', async (_what, behaviour) => {
    server.behave(behaviour, accepted);
    using starter = await createStarter({ attempts: 2 });

    await starter.start('worker', EVENT);

    expect(server.received).toHaveLength(2);
  });

  test('reports what Lambda refused, after one attempt', async () => {
    const headers = { 'x-amzn-errortype': 'ResourceNotFoundException:http://internal.amazon.com/' };
    server.behave(answer({ status: 404, headers, body: '{"Type":"User","Message":"Function not found: worker"}' }));
    using starter = await createStarter({ attempts: 2 });

    const error = await starter.start('worker', EVENT).catch(String);

    expect(error).toBe('ResourceNotFoundException: Function not found: worker');
    expect(server.received).toHaveLength(1);
  });

  test('sends fifty starts at a time, and continues after a failed one', async () => {
    const waiting: (() => void)[] = [];
    const fifty = Promise.withResolvers<undefined>();
    server.behave((socket, request) => {
      if (waiting.length === 50) {
        accepted(socket, request);
        return;
      }
      const isFirst = waiting.length === 0;
      waiting.push(() => {
        if (isFirst) socket.destroy();
        else accepted(socket, request);
      });
      if (waiting.length === 50) fifty.resolve(undefined);
    });
    using starter = await createStarter();

    const starts = Promise.allSettled(Array.from({ length: 120 }, () => starter.start('worker', EVENT)));
    await fifty.promise;
    await setImmediate();
    expect(server.received).toHaveLength(50);
    for (const go of waiting) go();

    const outcomes = await starts;
    expect(server.received).toHaveLength(120);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  });
});

describe('lambdaEndpoint', () => {
  const regions = ['us-east-1', 'il-central-1', 'cn-north-1', 'us-gov-west-1', 'us-iso-east-1', 'us-isob-east-1'];
  const more = ['us-isof-south-1', 'eu-isoe-west-1', 'eusc-de-east-1', 'mx-central-1'];

  test.each([...regions, ...more])(
    "finds what AWS's client finds in %s, also with FIPS and both protocols",
    async (region) => {
      for (const useFipsEndpoint of [false, true])
        for (const useDualstackEndpoint of [false, true]) {
          const { config } = new LambdaClient({ region, useFipsEndpoint, useDualstackEndpoint });
          const theirs = config.endpointProvider(
            { Region: region, UseFIPS: useFipsEndpoint, UseDualStack: useDualstackEndpoint },
            {},
          );
          const ours = lambdaEndpoint({
            AWS_REGION: region,
            AWS_USE_FIPS_ENDPOINT: String(useFipsEndpoint),
            AWS_USE_DUALSTACK_ENDPOINT: String(useDualstackEndpoint),
          });

          expect(ours.url.href).toBe(theirs.url.href);
        }
    },
  );

  test('refuses an environment without a region', () => {
    expect(() => lambdaEndpoint({})).toThrow('AWS_REGION is not set');
  });
});
