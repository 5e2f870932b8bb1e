/** Invalid arguments of durable tasks: each gets a clear error, and the task loses nothing. */
import * as sdk from '@aws/durable-execution-sdk-js';
import { expect, test, vi } from 'vitest';
import { durableTask, withStep } from '../../../../api/durable.ts';
import type { TestKit } from '../../../../api/testing.ts';
import { createTestKit } from '../../../../api/testing.ts';
import { callbackIdOf } from '../../../../shared/tasks/durable/callback-id.ts';
import { judgedSdk } from '../../../../shared/tasks/durable/sdk.ts';
import type { Code } from './kit-with.ts';
import { asking, kitWith } from './kit-with.ts';

const dead = (message: RegExp, name?: string) => ({
  state: 'dead',
  attempts: 1,
  lastError: { message: expect.stringMatching(message) as string, ...(name && { name }) },
});
const OWN = { tables: [{ name: 'own', partitionKey: 'id' }] };

/** Runs a task with this code to its end. */
const endOf = (code: Code) => async () => {
  const { kit, task } = await kitWith(code, {}, OWN);
  await kit.drain();
  return task();
};

const writing = (...writes: readonly object[]) =>
  endOf((_, ctx) => ctx.step('write', async () => withStep(...(writes as never[]))));

/** The replies to an answer with another id, and then to one with the true id. */
const answers =
  (idOf: (openKey: string) => string, isOver = false) =>
  async () => {
    const { ask, ids } = asking();
    const { kit } = await kitWith((_, ctx) => ask(ctx));
    await kit.drain();
    const [, , openKey] = JSON.parse(Buffer.from(ids[0] ?? '', 'base64url').toString()) as [string, string, string];
    if (isOver) await kit.operator.cancel('r', { reason: 'not needed' });
    const { callbacks } = kit.tasks;
    const said = await callbacks.succeed(idOf(openKey), 'x').catch(String);
    return [said, await callbacks.heartbeat(idOf(openKey)).catch(String), await callbacks.succeed(ids[0] ?? '', 'yes')];
  };

/** The reply to an invalid answer; the callback still waits. */
const answer = (result: unknown) => async () => {
  const { ask, ids } = asking();
  const { kit } = await kitWith((_, ctx) => ask(ctx));
  await kit.drain();
  const { callbacks } = kit.tasks;
  const said = await callbacks.succeed(ids[0] ?? '', result as string).catch(String);
  const failed = await callbacks.fail(ids[0] ?? '', { message: result } as never).catch(String);
  return [said, failed, await callbacks.succeed(ids[0] ?? '', 'yes')];
};

const refused = (options: object) => async () => {
  try {
    return durableTask(options as never);
  } catch (error) {
    return String(error);
  }
};
const says = (text: RegExp) => expect.stringMatching(text) as string;
const OTHER_QUEUE = says(
  /ConfigurationError: the callback is of task r of queue q, and this client is of queue default/,
);
const NO_ID = says(/ConfigurationError: the id of a callback is .*pass the id that createCallback/);
const run = async (): Promise<undefined> => undefined;

test.each<[what: string, act: () => Promise<unknown>, wanted: unknown]>([
  [
    'a callback id of another queue',
    answers((op) => callbackIdOf({ queue: 'q', id: 'r' }, op)),
    [OTHER_QUEUE, OTHER_QUEUE, 'accepted'],
  ],
  [
    'a callback id of an old secret',
    answers((op) => callbackIdOf({ queue: 'default', id: 'r' }, `${op.slice(0, -1)}!`)),
    ['over', 'over', 'accepted'],
  ],
  [
    'a callback id of an ended task',
    answers((op) => callbackIdOf({ queue: 'default', id: 'r' }, op), true),
    ['over', 'over', 'over'],
  ],
  ['no callback id', answers(() => 'nonsense'), [NO_ID, NO_ID, 'accepted']],
  [
    'an answer that is no text',
    answer(1),
    [says(/is 1: pass a text/), says(/message of .* is 1: pass a text/), 'accepted'],
  ],
  [
    'an answer above 256 KB',
    answer('x'.repeat(300_000)),
    [says(/has 3000\d\d bytes: at most/), says(/at most 262144/), 'accepted'],
  ],
  ['a result that is no JSON', endOf(async () => 1n), dead(/BigInt/)],
  ['a result above 256 KB', endOf(async () => 'x'.repeat(300_000)), dead(/the result of task r .* 300002 bytes/)],
  [
    'a step result above 256 KB',
    endOf((_, ctx) => ctx.step('huge', async () => 'x'.repeat(300_000))),
    dead(/result of step "huge" has 300002 bytes/),
  ],
  [
    'withStep outside of a step',
    endOf(async () => withStep()),
    dead(/withStep was called outside of the code of a step/),
  ],
  [
    'withStep of what is no write',
    endOf((_, ctx) => ctx.step('write', async () => withStep('x'), { retryStrategy: () => ({ shouldRetry: false }) })),
    dead(/the writes of withStep: number 1 is not a write/),
  ],
  [
    'withStep of one row twice',
    writing(...['a', 'b'].map((by) => ({ Put: { TableName: 'own', Item: { id: 'x', by } } }))),
    dead(/multiple operations on one item/, 'ConfigurationError'),
  ],
  [
    'withStep of a row without its key',
    writing({ Put: { TableName: 'own', Item: { other: 'x' } } }),
    dead(/Missing the key id in the item/, 'ConfigurationError'),
  ],
  [
    'withStep of a table that is not there',
    writing({ Put: { TableName: 'absent', Item: { id: 'x' } } }),
    dead(/there is no table absent/, 'ConfigurationError'),
  ],
  [
    'a handler that is not durable',
    async () => {
      const main = durableTask({ name: 'main', handler: (async () => 'plain') as never });
      const kit = createTestKit({ tasks: { main } });
      await kit.tasks.enqueue('main', null, { id: 'r' });
      await kit.drain();
      return kit.tasks.get('r');
    },
    dead(/handler of task main is not durable: pass what withDurableExecution returns/),
  ],
  ['no code', refused({ name: 'main' }), says(/run is of type undefined/)],
  ['a handler that is no function', refused({ name: 'main', handler: 1 }), says(/handler is of type number/)],
  ['an unknown option', refused({ name: 'main', run, bulk: {} }), says(/bulk/)],
  [
    'an executionTimeout that is no span',
    refused({ name: 'main', run, executionTimeout: 'soon' }),
    says(/executionTimeout/),
  ],
])('%s', async (_what, act, wanted) => {
  expect({ seen: await act() }).toMatchObject({ seen: wanted });
});

/** Replaces an attribute of a row. @returns what puts it back */
const damage =
  (pk: string, attribute: string, wrong: unknown) =>
  (kit: TestKit): (() => void) => {
    const row = () => kit.rows('leasehold').find((one) => one.pk === pk)!;
    const right = row()[attribute];
    kit.put('leasehold', { ...row(), [attribute]: wrong });
    return () => kit.put('leasehold', { ...row(), [attribute]: right });
  };
const [TASK, PART] = ['task#default#r', 'journal#default#r'];

test.each<[what: string, act: ReturnType<typeof damage>]>([
  ['whose row has no raw deflate', damage(TASK, 'journal', [new Uint8Array([1, 2, 3])])],
  ['whose row has no JSON', damage(TASK, 'journal', ['{'])],
  ['whose row has no element', damage(TASK, 'journal', ['{"e":1}'])],
  ['whose older elements are no JSON', damage(PART, 'text', '[')],
  ['whose older elements are gone', damage(TASK, 'journalPart', '9.9.9')],
])('a journal %s is skipped without an attempt, others run, and once mended it continues', async (_what, act) => {
  const error = vi.fn();
  const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error };
  const numbers = Array.from({ length: 400 }, (_, n) => n * n * 7_919);
  const { kit, task } = await kitWith(
    async (_, ctx) => {
      await ctx.step('numbers', async () => numbers);
      await ctx.wait({ hours: 1 });
      return 'yes';
    },
    {},
    { log },
  );
  await kit.tasks.enqueue('main', null, { id: 'other' });
  await kit.drain();
  const mend = act(kit);
  await kit.advance('2 hours');
  await kit.drain();

  expect(await task()).toMatchObject({ state: 'ready', attempts: 0, lastError: { name: 'CorruptItemError' } });
  expect(await kit.tasks.get('other')).toMatchObject({ state: 'done', result: 'yes' });
  expect(error).toHaveBeenCalledWith('row skipped', { error: says(/CorruptItemError: row /) });

  mend();
  await kit.advance('2 hours');
  await kit.drain();
  expect(await task()).toMatchObject({ state: 'done', result: 'yes' });
});

test.each([
  ['below the range', { ...sdk, SDK_VERSION: '2.3.9' }, says(/is version 2.3.9: durable tasks need >=2.4 <3/), []],
  ['above the range', { ...sdk, SDK_VERSION: '3.0.0' }, says(/is version 3.0.0/), []],
  ['without an export', { ...sdk, withDurableExecution: undefined }, says(/does not export withDurableExecution/), []],
  ['not tested', { ...sdk, SDK_VERSION: '2.5.0' }, false, [says(/2.5.0 was not tested/)]],
  ['not to be read, and one warning was given', { ...sdk, SDK_VERSION: undefined }, false, []],
  ['bundled', { ...sdk, SDK_VERSION: '2.4.0-bundled' }, true, []],
  ['installed', sdk, true, []],
])('an SDK whose version is %s', (_what, given, wanted, warnings) => {
  const said: string[] = [];
  let judged: unknown;
  try {
    judged = judgedSdk(given, (text) => void said.push(text)).isTested;
  } catch (error) {
    judged = String(error);
  }

  expect([judged, said]).toEqual([wanted, warnings]);
});
