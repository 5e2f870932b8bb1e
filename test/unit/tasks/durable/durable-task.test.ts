/** Durable tasks through the public API: executions, callbacks, invokes, handlers. */
import { randomBytes } from 'node:crypto';
import type { DurableContext } from '@aws/durable-execution-sdk-js';
import { withDurableExecution } from '@aws/durable-execution-sdk-js';
import { describe, expect, test } from 'vitest';
import { defineTask } from '../../../../api/tasks.ts';
import { createTestKit } from '../../../../api/testing.ts';
import { durableTask, withStep } from '../../../../api/durable.ts';
import type { Code } from './kit-with.ts';
import { asking, kitWith } from './kit-with.ts';

const boom = (): never => {
  throw new Error('target failed');
};
const noRetry = { retryStrategy: () => ({ shouldRetry: false as const }) };

describe('an execution', () => {
  test('waits without a worker, and does not run again what is recorded', async () => {
    const ran: string[] = [];
    const { kit, task } = await kitWith(async (_, ctx) => {
      await ctx.step('a', async () => void ran.push('a'));
      await ctx.wait({ hours: 1 });
      return ctx.step('b', async () => ran.push('b'));
    });
    await kit.drain();
    expect(await task()).toMatchObject({ state: 'ready', attempts: 0 });
    await kit.advance('1h');
    await kit.drain();

    expect(await task()).toMatchObject({ state: 'done', result: 2 });
    expect(ran).toEqual(['a', 'b']);
  });

  test('is dead when its code throws, whatever its retries, and an operator retries only what failed', async () => {
    let isBroken = true;
    const ran: string[] = [];
    const { kit, task } = await kitWith(async (_, ctx) => {
      await ctx.step('a', async () => void ran.push('a'));
      await ctx.runInChildContext('child', (child) =>
        child.step(
          'b',
          async () => {
            ran.push('b');
            if (isBroken) throw new Error('no');
          },
          noRetry,
        ),
      );
      await ctx.step('c', async () => void ran.push('c'));
    });
    await kit.drain();
    expect(await task()).toMatchObject({ state: 'dead', attempts: 1, lastError: { message: 'no' } });
    isBroken = false;
    await kit.operator.retry('r');
    await kit.drain();

    expect((await task()).state).toBe('done');
    expect(ran).toEqual(['a', 'b', 'b', 'c']);
  });

  test('is dead with the reason when it takes longer than its timeout', async () => {
    const { ask, ids } = asking();
    const { kit, task } = await kitWith((_, ctx) => ask(ctx), { executionTimeout: '1 day' });
    await kit.drain();
    await kit.advance('1 day');
    await kit.drain();

    expect(await task()).toMatchObject({ state: 'dead', lastError: { name: 'Execution.TimedOut' } });
    expect(await kit.tasks.callbacks.succeed(ids[0] ?? '', 'late')).toBe('over');
  });

  test('gives its code the task without its verbs', async () => {
    let seen: object = {};
    const { kit } = await kitWith(async (_, _ctx, task) => {
      seen = task;
    });
    await kit.drain();

    expect(Object.keys(seen).sort()).toEqual([
      'attempt',
      'id',
      'log',
      'queue',
      'runId',
      'schedule',
      'signal',
      'tenant',
    ]);
  });

  test('continues with 20 results of 100 KB', async () => {
    const { kit, task } = await kitWith(async (_, ctx) => {
      for (let at = 0; at < 20; at++) await ctx.step(`step-${at}`, async () => 'x'.repeat(100_000));
      await ctx.wait({ seconds: 1 });
      return 'done';
    });
    await kit.drain();
    await kit.advance('1s');
    await kit.drain();

    expect(await task()).toMatchObject({ state: 'done', result: 'done' });
  });

  test('names the change in its code, and continues with the former code', async () => {
    const { ask, ids } = asking();
    let name = 'former';
    const { kit, task } = await kitWith(async (_, ctx) => {
      await ctx.step(name, async () => 1);
      return ask(ctx);
    });
    await kit.drain();
    name = 'renamed';
    await kit.tasks.callbacks.succeed(ids[0] ?? '', 'yes');
    await kit.drain();
    const { lastError } = await task();
    name = 'former';
    await kit.operator.retry('r');
    await kit.drain();

    expect(lastError?.message).toMatch(/Expected name "former".* but got "renamed".*run the former code again/s);
    expect(await task()).toMatchObject({ state: 'done', result: 'yes' });
  });
});

describe('withStep', () => {
  test('applies nothing with a refused condition, and the step runs again', async () => {
    const ran: string[] = [];
    const { kit, task } = await kitWith(
      async (_, ctx) => {
        await ctx.step('before', async () => void ran.push('before'));
        await ctx.step('write', async () => {
          ran.push('write');
          const Item = { id: 'x', n: 1 };
          withStep({ Put: { TableName: 'own', Item, ConditionExpression: 'attribute_not_exists(id)' } });
        });
      },
      {},
      { tables: [{ name: 'own', partitionKey: 'id' }] },
    );
    kit.put('own', { id: 'x', n: 0 });
    await kit.drain();

    expect(await task()).toMatchObject({ state: 'ready', lastError: { name: 'CommitRefusedError' } });
    expect(kit.rows('own')).toEqual([{ id: 'x', n: 0 }]);
    expect(ran).toEqual(['before', 'write']);
  });
});

describe('a callback', () => {
  test('is answered once', async () => {
    const { ask, ids } = asking();
    const { kit, task } = await kitWith((_, ctx) => ask(ctx));
    await kit.drain();
    const { callbacks } = kit.tasks;
    const id = ids[0] ?? '';
    const answers = await Promise.all([callbacks.succeed(id, '1'), callbacks.succeed(id, '2'), callbacks.fail(id)]);
    await kit.drain();

    expect(answers.filter((answer) => answer === 'accepted')).toHaveLength(1);
    expect(await callbacks.heartbeat(id)).toBe('over');
    expect((await task()).state).toMatch(/done|dead/);
  });

  test('stores a large answer in a separate row', async () => {
    const { ask, ids } = asking();
    const { kit, task } = await kitWith(async (_, ctx) => (await ask(ctx)).length);
    await kit.drain();
    await kit.tasks.callbacks.succeed(ids[0] ?? '', 'x'.repeat(200_000));
    await kit.drain();

    expect(await task()).toMatchObject({ state: 'done', result: 200_000 });
  });

  test('with a heartbeat timeout lives as long as its heart beats', async () => {
    const { ask, ids } = asking();
    const { kit, task } = await kitWith((_, ctx) => ask(ctx, 'ask', { heartbeatTimeout: { seconds: 10 } }));
    await kit.drain();
    for (let beat = 0; beat < 3; beat++) {
      await kit.advance('8s');
      expect(await kit.tasks.callbacks.heartbeat(ids[0] ?? '')).toBe('accepted');
      await kit.drain();
    }
    expect((await task()).state).toBe('ready');
    await kit.advance('10s');
    await kit.drain();

    expect(await task()).toMatchObject({ state: 'dead', lastError: { message: 'Callback heartbeat timed out' } });
  });
});

describe('an invoke', () => {
  const large = randomBytes(150_000).toString('base64');
  const invoking: Code = (_, ctx) => ctx.invoke('call', 'child', large);

  test('passes large inputs on, and gets large results', async () => {
    const child = durableTask({ name: 'child', run: async (input: string) => `${input}!` });
    const { kit, task } = await kitWith(invoking, {}, { tasks: { child } });
    await kit.drain();

    expect(await task()).toMatchObject({ state: 'done', result: `${large}!` });
  });

  test.each([
    ['failed', /target failed/],
    ['timed out', /took longer than its timeout/],
  ] as const)('of a task that %s fails', async (how, message) => {
    const child =
      how === 'failed'
        ? defineTask({
            name: 'child',
            retry: { maxAttempts: 1 },
            run: boom,
          })
        : durableTask({ name: 'child', executionTimeout: '1m', run: (_: unknown, ctx) => ctx.wait({ hours: 1 }) });
    const { kit, task } = await kitWith(invoking, {}, { tasks: { child } });
    await kit.drain();
    await kit.advance('1m');
    await kit.drain();

    expect(await task()).toMatchObject({
      state: 'dead',
      lastError: { message: expect.stringMatching(message) as string },
    });
  });

  test('of a cancelled task stops, and a child that ends while its parent is dead is found by the retry', async () => {
    let isBroken = true;
    const child = defineTask({ name: 'child', run: () => 'of the child' });
    const { kit, task } = await kitWith(
      async (_, ctx) => {
        const called = ctx.invoke('call', 'child', null);
        await ctx.step(
          'b',
          async () => {
            if (isBroken) throw new Error('no');
          },
          noRetry,
        );
        return called;
      },
      {},
      { tasks: { child } },
    );
    await kit.runOnce();
    expect((await task()).state).toBe('dead');
    await kit.drain();
    isBroken = false;
    await kit.operator.retry('r');
    await kit.drain();

    expect(await task()).toMatchObject({ state: 'done', result: 'of the child' });
  });
});

describe('a handler of Lambda', () => {
  test('runs unchanged, and names functions in its own way', async () => {
    const arn = 'arn:aws:lambda:eu-west-1:123456789012:function:resize:live';
    const handler = withDurableExecution(async (_: unknown, ctx: DurableContext) => {
      const one = await ctx.invoke<unknown, string>('a', arn, 1);
      const two = await ctx.invoke<unknown, string>('b', 'resize:live', 2);
      return [one, two, await ctx.invoke<unknown, string>('c', 'elsewhere', 3), ctx.lambdaContext.functionName];
    });
    const main = durableTask({ name: 'main', handler, functions: { elsewhere: 'resize' } });
    const resize = defineTask({ name: 'resize', run: (input: number) => `resized ${input}` });
    const kit = createTestKit({ tasks: { main, resize } });
    await kit.tasks.enqueue('main', null, { id: 'r' });
    await kit.drain();

    expect(await kit.tasks.get('r')).toMatchObject({
      state: 'done',
      result: ['resized 1', 'resized 2', 'resized 3', 'main'],
    });
  });
});
