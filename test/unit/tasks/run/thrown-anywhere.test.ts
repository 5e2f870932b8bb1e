/** Any value thrown anywhere by the user's code: the attempt fails with some text, its neighbours end, and the worker continues. */
import { expect, test } from 'vitest';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { RetryAfter } from '../../../../shared/tasks/task/control.ts';
import type { TaskContext } from '../../../../shared/tasks/task/context.ts';
import type { TestKitOptions } from '../../../../shared/testing/kit.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';
import { MemoryPayloads } from '../../../../shared/testing/memory-payloads.ts';

const secret = (): never => {
  throw new Error('not for you');
};
const withGetters = (...names: readonly string[]): Error =>
  Object.defineProperties(new Error('x'), Object.fromEntries(names.map((name) => [name, { get: secret }])));

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable(new Error('e'), {});
  revoke();
  return proxy;
}

const getter = (get: () => never) => ({ get, enumerable: true });

function circular(): Error {
  const error = new Error('told');
  error.cause = new Error('its cause', { cause: error });
  return error;
}

/** Each with what a reader of the failed task finds. */
const VALUES: readonly (readonly [string, unknown, RegExp])[] = [
  ['a list as message', Object.assign(new Error('x'), { message: ['name must be a string'] }), /name must be a string/],
  ['an object as message', Object.assign(new Error('x'), { message: { code: 'E' } }), /code: 'E'/],
  ['a number as message', Object.assign(new Error('x'), { message: 404 }), /^404$/],
  ['undefined as message', Object.assign(new Error('x'), { message: undefined }), /^undefined$/],
  ['null as message', Object.assign(new Error('x'), { message: null }), /^null$/],
  ['a symbol as name', Object.assign(new Error('told'), { name: Symbol('s') }), /^told$/],
  ['a stack and a cause of other types', Object.assign(new Error('told', { cause: 7n }), { stack: {} }), /^told$/],
  ['a getter as message', withGetters('message'), /^an error that cannot be printed$/],
  ['getters around a message', withGetters('name', 'stack', 'cause'), /^x$/],
  ['a revoked proxy', revoked(), /cannot be printed|has been revoked/],
  ['a cause that is a revoked proxy', new Error('told', { cause: revoked() }), /^told$/],
  ['an error that is the cause of its cause', circular(), /^told$/],
  ['undefined', undefined, /./],
  ['null', null, /./],
  ['a text', 'told', /^told$/],
  ['a symbol', Symbol('s'), /Symbol\(s\)/],
  ['a function', secret, /not for you/],
  ['an object without prototype', Object.create(null), /./],
  ['a RetryAfter whose delay is a text', Object.assign(new RetryAfter(0, 'told'), { delayMs: 'soon' }), /^told$/],
];

interface Place {
  readonly options?: (raise: () => never) => TestKitOptions;
  readonly run?: (raise: () => never, task: TaskContext) => unknown;
  readonly schema?: (raise: () => never) => unknown;
  /** Code that only observes fails no attempt. */
  readonly observes?: true;
}

const PLACES: Readonly<Record<string, Place>> = {
  'the code': { run: (raise) => raise() },
  'the code, later': { run: (raise) => Promise.resolve().then(raise) },
  'before of a middleware': { options: (raise) => ({ middleware: [{ before: raise }] }) },
  'after of a middleware': { options: (raise) => ({ middleware: [{ after: raise }] }) },
  'onError of a middleware': { options: (raise) => ({ middleware: [{ onError: raise }] }), run: secret },
  'the schema': { schema: (raise) => raise() },
  "a getter of the caller's row": {
    options: () => ({ tables: [{ name: 'mine', partitionKey: 'id' }] }),
    run: (raise, task) =>
      task.commit('x', [
        { Put: { TableName: 'mine', Item: Object.defineProperty({ id: 'a' }, 'price', getter(raise)) } },
      ]),
  },
  'toJSON of a result': { run: (raise) => ({ toJSON: raise }) },
  'toJSON of a progress': { run: (raise, task) => task.saveProgress({ toJSON: raise } as never) },
  'the reading of an input elsewhere': { options: (raise) => ({ payloads: payloadsWith({ get: raise }) }) },
  'the removal of an input elsewhere': {
    options: (raise) => ({ payloads: payloadsWith({ delete: raise }) }),
    observes: true,
  },
  'an event handler': { options: (raise) => ({ events: { onClaimed: raise, onSettled: raise } }), observes: true },
  'an event handler, later': {
    options: (raise) => ({ events: { onClaimed: async () => raise(), onSettled: async () => raise() } }),
    observes: true,
  },
  'the log': {
    options: (raise) => ({ log: { debug: raise, info: raise, warn: raise, error: raise } }),
    run: (_raise, task) => task.log.info('hello'),
    observes: true,
  },
  onTimed: { options: (raise) => ({ onTimed: raise }), observes: true },
};

function payloadsWith(broken: Partial<MemoryPayloads>): MemoryPayloads {
  return Object.assign(new MemoryPayloads(), broken);
}

const cases = Object.keys(PLACES).flatMap((place) => VALUES.map(([value]) => [value, place] as const));

test.each(cases)('%s, thrown by %s', async (value, where) => {
  const [, thrown, told] = VALUES.find(([name]) => name === value)!;
  const { options, run, schema, observes = false } = PLACES[where]!;
  const raise = (): never => {
    // The point of this table.
    throw thrown;
  };
  let isStored = false;
  const input = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => (isStored ? schema?.(raise) : undefined) ?? { value },
    },
  };
  const bad = defineTask({
    name: 'bad',
    ...(schema && { input: input as never }),
    retry: { maxAttempts: 1 },
    run: (_: unknown, task: TaskContext) => run?.(raise, task) as never,
  });
  const ok = defineTask({ name: 'ok', run: () => 1 });
  const kit = createTestKit({ tasks: { bad, ok }, concurrency: 2, ...options?.(raise) });
  const large = where.includes('elsewhere') ? 'x'.repeat(400_000) : null;
  await kit.tasks.enqueue(bad, large as never, { id: 'bad' });
  await kit.tasks.enqueue(ok, null, { id: 'ok' });
  isStored = true;

  await kit.drain();

  const task = await kit.tasks.get('bad');
  expect(task?.state).toBe(observes ? 'done' : 'dead');
  if (!observes) expect(task?.lastError?.message).toMatch(where.startsWith('toJSON') ? /./ : told);
  if (where !== 'before of a middleware' && where !== 'after of a middleware')
    expect((await kit.tasks.get('ok'))?.state).toBe('done');
});
