/** The local Lambda with real processes: everything that a handler and its caller can observe, compared with AWS's documentation. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { functionFrom, started } from '../support/local-lambda.ts';
import { expectGone, isStopped } from '../support/processes.ts';

describe('an invocation', () => {
  test("receives the event, the context and the function's variables, and no terminal", async () => {
    const { lambda } = await started({ count: functionFrom('counter', { environment: { GREETING: 'hi' } }) });

    const { payload, requestId, functionError } = await lambda.invoke('count', { some: ['event'] });

    expect(functionError).toBeUndefined();
    expect(payload).toMatchObject({
      event: { some: ['event'] },
      greeting: 'hi',
      region: 'us-east-1',
      hasChannel: false,
      context: {
        awsRequestId: requestId,
        functionName: 'count',
        functionVersion: '$LATEST',
        invokedFunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:count',
        memoryLimitInMB: '128',
      },
    });
    expect(payload).not.toHaveProperty('home');
  });

  test('sees its remaining time count down from the timeout', async () => {
    const { lambda } = await started({
      clock: functionFrom('counter', { handler: 'remaining', timeoutMs: 600_000 }),
    });

    const { payload } = await lambda.invoke('clock', { ms: 50 });
    const { first, second } = payload as { first: number; second: number };

    expect(first).toBeGreaterThan(300_000);
    expect(first).toBeLessThanOrEqual(600_000);
    expect(second).toBeLessThan(first);
  });

  test('reaches another function through the SDK as it comes', async () => {
    const { lambda } = await started({ first: functionFrom('invoker'), second: functionFrom('counter') });

    const { payload } = await lambda.invoke('first', { target: 'second', payload: { from: 'first' } });

    expect(payload).toMatchObject({ status: 200, answered: { event: { from: 'first' } } });
  });
});

describe('an environment', () => {
  test('is reused when warm, with the state of its module', async () => {
    const { lambda, events } = await started({ count: functionFrom('counter') });

    const first = (await lambda.invoke('count', {})).payload;
    const second = (await lambda.invoke('count', {})).payload;

    const { pid } = first as { pid: number };
    expect([first, second]).toMatchObject([
      { invocations: 1, pid },
      { invocations: 2, pid },
    ]);
    expect(events.of('invocationStarted').map(({ coldStart }) => coldStart)).toEqual([true, false]);
  });

  test('does nothing between invocations: a timer left behind does not tick', async () => {
    const { lambda, events } = await started({ act: functionFrom('counter', { handler: 'tickFor' }) });
    await lambda.invoke('act', { ms: 30 });
    const { pid } = lambda.environments()[0]!;

    // On a busy machine the freeze itself comes late.
    await expect.poll(() => isStopped(pid)).toBe(true);
    await setTimeout(400); // Real time must pass here: the claim is that it passes the frozen process by.
    const { payload } = await lambda.invoke('act', { ms: 30 });

    // It ticks every 5 ms.
    expect((payload as { longestPauseMs: number }).longestPauseMs).toBeGreaterThan(200);
    expect(events.of('environmentFrozen')).toHaveLength(2);
  });
});

describe('a function that fails', () => {
  test.each([
    [{ act: 'throw' }, { errorType: 'ThumbnailError', errorMessage: 'no such picture' }],
    [{ act: 'throwText' }, { errorType: 'string', errorMessage: 'just text' }],
    [{ act: 'answerTooMuch' }, { errorType: 'Function.ResponseSizeTooLarge' }],
  ])('reports what it threw and lives on: %j', async (event, error) => {
    const { lambda, events } = await started({ act: functionFrom('misbehave') });

    const { status, functionError, payload } = await lambda.invoke('act', event);
    await lambda.invoke('act', { act: 'wait', ms: 0 });

    expect({ status, functionError, payload }).toMatchObject({
      status: 200,
      functionError: 'Unhandled',
      payload: error,
    });
    expect(events.of('environmentStarted')).toHaveLength(1);
  });

  test.each([
    [{ act: 'exit', code: 3 }, 'Runtime.ExitError', 'Runtime exited with error: exit status 3'],
    [{ act: 'exit', code: 0 }, 'Runtime.ExitError', 'Runtime exited without providing a reason'],
    [{ act: 'killSelf' }, 'Runtime.ExitError', 'Runtime exited with error: signal: killed'],
    [{ act: 'throwOutside' }, 'ThumbnailError', 'outside of the handler'],
    [{ act: 'rejectOutside' }, 'Runtime.UnhandledPromiseRejection', 'nobody listens'],
  ])('takes its environment with it: %j', async (event, errorType, message) => {
    const { lambda } = await started({ act: functionFrom('misbehave') });

    const { functionError, payload } = await lambda.invoke('act', event);

    expect({ functionError, payload }).toMatchObject({ functionError: 'Unhandled', payload: { errorType } });
    expect((payload as { errorMessage: string }).errorMessage).toContain(message);
    expect(lambda.environments()).toEqual([]);
    expect((await lambda.invoke('act', { act: 'wait', ms: 0 })).functionError).toBeUndefined();
  });

  test('takes the processes that it started with it', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'leasehold-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const PID_FILE = path.join(folder, 'pid');
    const { lambda } = await started({ act: functionFrom('misbehave', { environment: { PID_FILE } }) });

    await lambda.invoke('act', { act: 'spawn', then: 'exit' });

    await expectGone([Number(readFileSync(PID_FILE, 'utf8'))]);
  });

  test('is killed at its timeout without a warning, and the next invocation starts cold', async () => {
    const { lambda, events } = await started({ act: functionFrom('misbehave', { timeoutMs: 2_000 }) });

    const { requestId, payload } = await lambda.invoke('act', { act: 'hang' });
    await lambda.invoke('act', { act: 'wait', ms: 0 });

    expect(payload).toEqual({
      errorType: 'Sandbox.Timedout',
      errorMessage: `RequestId: ${requestId} Error: Task timed out after 2.00 seconds`,
    });
    expect(events.of('environmentKilled')).toMatchObject([{ by: 'timeout', requestId }]);
    expect(events.of('environmentExited')).toMatchObject([{ code: null, signal: 'SIGKILL' }]);
    expect(events.of('invocationStarted').map(({ coldStart }) => coldStart)).toEqual([true, true]);
    const { outcome, durationMs } = events.of('invocationEnded')[0]!;
    expect(outcome).toBe('timeout');
    expect(durationMs).toBeGreaterThanOrEqual(1_999);
  });

  test.each([
    ['broken', 'handler', 'Error', 'TABLE_NAME is not set'],
    ['missing-import', 'handler', 'Runtime.ImportModuleError', 'no-such-package-anywhere'],
    ['no-such-file', 'handler', 'Runtime.ImportModuleError', 'no-such-file'],
    ['no-such-folder/handler', 'handler', 'Runtime.ExitError', 'Runtime failed to start'],
    ['counter', 'nothing', 'Runtime.HandlerNotFound', 'nothing is undefined or not exported'],
    ['counter', 'withCallback', 'Runtime.CallbackHandlerDeprecated', 'return a promise instead'],
  ])('to load says why: %s.%s', async (file, handler, errorType, message) => {
    const { lambda, events } = await started({ act: functionFrom(file, { handler }) });

    const { functionError, payload } = await lambda.invoke('act', {});

    expect({ functionError, payload }).toMatchObject({ functionError: 'Unhandled', payload: { errorType } });
    expect((payload as { errorMessage: string }).errorMessage).toContain(message);
    expect(events.of('invocationEnded')).toMatchObject([{ outcome: 'initError' }]);
    expect(lambda.environments()).toEqual([]);
  });
});
