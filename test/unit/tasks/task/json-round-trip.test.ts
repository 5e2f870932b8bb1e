/** The value checked at enqueue is the worker's input: JSON, without losses. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ConfigurationError } from '../../../../shared/core/errors.ts';
import { defineTask } from '../../../../shared/tasks/task/definition.ts';
import { spawn } from '../../../../shared/tasks/task/task-request.ts';
import { isTooDeep, parseUnchanged } from '../../../../shared/core/json.ts';
import { createTestKit } from '../../../../shared/testing/kit.ts';

const seen: unknown[] = [];
const look = defineTask({
  name: 'look',
  run: (input) => {
    seen.push(input);
  },
});
const dated = defineTask({ name: 'dated', input: z.object({ at: z.date() }), run: () => 'never' });
const texted = defineTask({
  name: 'texted',
  input: z.object({ at: z.iso.datetime().transform((text) => new Date(text)) }),
  run: ({ at }) => at.getTime(),
});

class Sealed {
  readonly #amount = 5;
  get amount(): number {
    return this.#amount;
  }
}
class Coded extends Error {
  readonly code = 7;
}
const circle: { part: { whole?: unknown } } = { part: {} };
circle.part.whole = circle;

test.each<[string, unknown, string]>([
  ['a Map', { rows: new Map([['a', 1]]) }, 'rows is a Map'],
  ['a Set in a list', { tags: ['x', new Set(['y'])] }, 'tags.1 is a Set'],
  ['an error, whatever else it has', { cause: new Coded('no') }, 'cause is a Coded'],
  ['bytes', { image: new Uint8Array(3) }, 'image is a Uint8Array'],
  ['a buffer, which JSON makes a list of', { image: Buffer.from('abc') }, 'image is a Buffer'],
  ['a memory', { raw: new ArrayBuffer(2) }, 'raw is an ArrayBuffer'],
  ['NaN', { prices: [{ net: NaN }] }, 'prices.0.net is NaN'],
  ['infinity', -Infinity, 'it is -Infinity'],
  ['a big integer', { count: 10n }, 'count is a bigint'],
  ['a function', { then: () => 1 }, 'then is a function'],
  ['a symbol', { kind: Symbol('a') }, 'kind is a symbol'],
  ['a hole in a list', [1, undefined, 3], '1 is undefined'],
  ['a list that was never filled', new Array(2), '0 is undefined'],
  ['a pattern', { match: /a/ }, 'match is a RegExp'],
  ['a promise that was not awaited', { user: Promise.resolve(1) }, 'user is a Promise'],
  ['an object that hides what it has', { order: new Sealed() }, 'order is a Sealed without properties of its own'],
  ['search parameters', { query: new URLSearchParams('a=1') }, 'query is a URLSearchParams without'],
  ['a date that is none', { at: new Date('never') }, 'at is an invalid Date'],
  ['what toJSON answers, if that is lost', { money: { toJSON: () => ({ net: NaN }) } }, 'money.net is NaN'],
  ['a circle', circle, 'part.whole is part of a circle'],
])('refuses %s in an input, with the way to it', async (_what, input, message) => {
  const kit = createTestKit({ tasks: { look } });

  const enqueuing = kit.tasks.enqueue(look, input);

  await expect(enqueuing).rejects.toThrow(ConfigurationError);
  await expect(enqueuing).rejects.toThrow(`cannot be stored as JSON: ${message}`);
  expect(await kit.drain()).toMatchObject({ claimed: 0 });
});

test.each<[unknown, string]>([
  [10_004_111n, 'part is a bigint'],
  [Symbol('4111-1111'), 'part is a symbol'],
  [() => 'card 4111-1111', 'part is a function'],
])('repeats nothing of a value that it refuses', async (part, message) => {
  const kit = createTestKit({ tasks: { look } });

  const refusal = await kit.tasks.enqueue(look, { part }, { id: 'a' }).catch(String);

  expect(refusal).toContain(message);
  expect(refusal).not.toContain('4111');
});

test('reports throwing getters and endless depth as clear errors', async () => {
  const kit = createTestKit({ tasks: { look } });
  const throwing = {
    get name(): string {
      throw new Error('not loaded');
    },
  };
  let deep: unknown = 1;
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];

  await expect(kit.tasks.enqueue(look, throwing)).rejects.toThrow('cannot be stored as JSON: not loaded');
  await expect(kit.tasks.enqueue(look, deep)).rejects.toThrow(
    'cannot be stored as JSON: it is nested more than 1000 deep',
  );
});

test.each([
  [1_000, false],
  [1_001, true],
  [20_000, true],
])('of %d lists in each other, read from a row, that they are too deep is %s', (lists, isDeep) => {
  expect(isTooDeep(JSON.parse('['.repeat(lists) + ']'.repeat(lists)))).toBe(isDeep);
});

test('delivers values that JSON converts on purpose, or omits on both sides', async () => {
  const kit = createTestKit({ tasks: { look } });
  const shared = { a: 1 };
  seen.length = 0;

  await kit.tasks.enqueue(look, {
    at: new Date(0),
    url: new URL('https://example.org/'),
    none: undefined,
    twice: [shared, shared],
    bare: Object.assign(Object.create(null) as object, { b: null }),
    empty: [{}, []],
  });
  await kit.drain();

  expect(seen).toEqual([
    {
      at: '1970-01-01T00:00:00.000Z',
      url: 'https://example.org/',
      twice: [shared, shared],
      bare: { b: null },
      empty: [{}, []],
    },
  ]);
});

test('delivers prototype names and lone surrogates unchanged, without changing a prototype', async () => {
  const kit = createTestKit({ tasks: { look } });
  const text = '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},"\\ud800":"\\udfff"}';
  seen.length = 0;

  await kit.tasks.enqueue(look, JSON.parse(text) as object);
  await kit.drain();

  expect(JSON.stringify(seen)).toBe(`[${text}]`);
  expect(seen[0]).not.toHaveProperty('isAdmin');
  expect({}).not.toHaveProperty('isAdmin');
});

test('validates dates as the text the worker would get, and explains the refusal', async () => {
  const kit = createTestKit({ tasks: { dated, texted } });

  await expect(kit.tasks.enqueue(dated, { at: new Date(0) })).rejects.toThrow(
    /at: .*a Date reaches the worker as text/,
  );
  await expect(kit.tasks.enqueue(dated, { at: 'x' } as never)).rejects.not.toThrow(/reaches the worker/);

  await kit.tasks.enqueue(texted, { at: new Date(5).toISOString() }, { id: 't' });
  await kit.drain();
  expect(await kit.tasks.get('t')).toMatchObject({ state: 'done', result: 5 });
});

test('enqueues a task without input as null, and refuses an input that became undefined', async () => {
  const needy = defineTask({ name: 'needy', input: z.object({ a: z.number() }), run: () => 'never' });
  const kit = createTestKit({ tasks: { look, needy } });
  seen.length = 0;

  await kit.tasks.enqueue(look);
  await kit.tasks.enqueue('look');
  await kit.tasks.enqueueAll([await kit.tasks.validate(look)]);
  await kit.tasks.enqueueBatch([spawn(look)], { id: 'b' });
  await kit.drain();

  expect(seen).toEqual([null, null, null, null]);
  await expect(kit.tasks.enqueue(look, undefined)).rejects.toThrow('which JSON has no form for: must be null');
  // @ts-expect-error its input is required
  await expect(kit.tasks.enqueue(needy)).rejects.toThrow('does not fit the schema of needy');
  // @ts-expect-error its input is required
  expect(spawn(needy).input).toBeNull();
});

test.each([
  ['0.10', 0.1],
  ['-1.50e+3', -1500],
  ['1e21', 1e21],
  ['9007199254740993.0', undefined],
  ['12345678901234567890', undefined],
  ['0.1000000000000000055', undefined],
  ['1e400', undefined],
])('the number %s in a text becomes %s', (text, value) => {
  const parse = () => parseUnchanged(`{"n":[${text}]}`);
  if (value === undefined) expect(parse).toThrow(RangeError);
  else expect(parse()).toEqual({ n: [value] });
});
