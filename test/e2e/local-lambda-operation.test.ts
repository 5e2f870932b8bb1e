/** The local Lambda from its user's side: the work, output and end of its environments. */
import { describe, expect, test } from 'vitest';
import { functionFrom, started } from '../support/local-lambda.ts';
import { isRunning, isStopped } from '../support/processes.ts';

describe('an operator', () => {
  test('sees what every environment does', async () => {
    const { lambda, events } = await started({ act: functionFrom('misbehave'), idle: functionFrom('counter') });
    await lambda.invoke('idle', {});
    const { requestId } = await lambda.invoke('act', { act: 'hang' }, 'Event');
    const starting = lambda.environments().find(({ functionName }) => functionName === 'act');

    await events.until('log', ({ line }) => line === 'hanging');

    expect(starting).toMatchObject({ state: 'starting', requestId });
    expect(lambda.environments()).toMatchObject([
      { id: 'act-1', functionName: 'act', state: 'busy', requestId },
      { id: 'idle-1', functionName: 'idle', state: 'idle' },
    ]);
  });

  test('kills an environment in the middle of its work', async () => {
    const { lambda, events } = await started({ act: functionFrom('misbehave') });
    const answer = lambda.invoke('act', { act: 'hang' });
    const { environmentId } = await events.until('log', ({ line }) => line === 'hanging');

    const killed = lambda.kill(environmentId);
    const killedAgain = lambda.kill(environmentId);

    expect((await answer).payload).toMatchObject({ errorType: 'Runtime.ExitError' });
    expect({ killed, killedAgain, later: lambda.kill(environmentId) }).toEqual({
      killed: true,
      killedAgain: false,
      later: false,
    });
  });

  test('freezes work and lets it go on', async () => {
    const { lambda, events } = await started({ act: functionFrom('misbehave') });
    const answer = lambda.invoke('act', { act: 'wait', ms: 300 });
    const { environmentId } = await events.until('invocationStarted');

    const frozen = lambda.freeze(environmentId);
    const { state, pid } = lambda.environments()[0]!;
    await expect.poll(() => isStopped(pid)).toBe(true);
    const thawed = lambda.thaw(environmentId);

    expect({ frozen, state, thawed }).toEqual({ frozen: true, state: 'frozen', thawed: true });
    expect((await answer).payload).toEqual({ waitedMs: 300 });
  });
});

describe('the log', () => {
  test('holds every line of both streams between the lines that Lambda writes', async () => {
    const { lambda, events } = await started({ count: functionFrom('counter') });

    const { requestId } = await lambda.invoke('count', {});

    expect(events.lines('stdout')).toEqual(['invocation 1']);
    expect(events.lines('stderr')).toEqual(['to the other stream']);
    const [start, end, report] = events.lines('platform');
    expect(start).toBe(`START RequestId: ${requestId} Version: $LATEST`);
    expect(end).toBe(`END RequestId: ${requestId}`);
    expect(report).toMatch(
      /^REPORT RequestId: \S+\tDuration: [\d.]+ ms\tBilled Duration: \d+ ms\tMemory Size: 128 MB\tMax Memory Used: \d+ MB\tInit Duration: [\d.]+ ms$/,
    );
    const order = events.of('log').map(({ stream }) => stream);
    expect(order.indexOf('stdout')).toBeGreaterThan(0);
    expect(order.lastIndexOf('stderr')).toBeLessThan(order.length - 2);
  });

  test('is complete before the invocation is reported, for any amount of output', async () => {
    const { lambda, events } = await started({ act: functionFrom('misbehave') });
    const lines = 5_000;

    await lambda.invoke('act', { act: 'print', lines });

    expect(events.lines('stdout').length).toBe(lines);
    expect(events.of('log').at(-2)!.line).toMatch(/^END /);
  });
});

describe('stop', () => {
  test('ends every process, whatever it does, and answers who still waits', async () => {
    const { lambda, events } = await started({ act: functionFrom('misbehave'), idle: functionFrom('counter') });
    await lambda.invoke('idle', {});
    const waiting = lambda.invoke('act', { act: 'hang' });
    await events.until('log', ({ line }) => line === 'hanging');
    const frozen = lambda.invoke('act', { act: 'hang' });
    await events.until('invocationStarted', ({ environmentId }) => environmentId === 'act-2');
    lambda.freeze('act-2');
    const starting = lambda.invoke('act', { act: 'hang' });
    const pids = lambda.environments().map(({ pid }) => pid);

    await lambda.stop();

    expect(pids).toHaveLength(4);
    expect(pids.filter(isRunning)).toEqual([]);
    const answers = await Promise.all([waiting, frozen, starting]);
    expect(answers).toMatchObject(Array(3).fill({ payload: { errorType: 'Runtime.ExitError' } }));
    await expect(lambda.invoke('idle', {})).rejects.toMatchObject({ status: 503 });
  });
});
