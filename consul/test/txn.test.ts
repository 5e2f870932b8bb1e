import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import type { TestGateway } from './support.ts';
import { GatewayTable, ask, newSession, pairAt } from './support.ts';

const endpoint = inject('embeddedEndpoint');
const base64 = (text: string) => Buffer.from(text).toString('base64');

interface Outcome {
  readonly Results: readonly { readonly KV: Record<string, unknown> }[] | null;
  readonly Errors: readonly { readonly OpIndex: number; readonly What: string }[] | null;
}

describe.skipIf(endpoint === null)('/v1/txn', () => {
  let table: GatewayTable;
  let gateway: TestGateway;
  let count = 0;
  let at: string;
  beforeAll(async () => {
    table = await GatewayTable.open(endpoint);
    gateway = await table.start();
  });
  afterAll(() => table.close());
  beforeEach(() => {
    at = `txn-${++count}/`;
  });

  const run = async (...operations: readonly object[]) => {
    const body = JSON.stringify(operations.map((KV) => ({ KV })));
    const { status, json } = await ask(gateway, 'PUT', 'txn', body);
    return { status, ...(json as Outcome) };
  };
  const put = (name: string, value: string) => ask(gateway, 'PUT', `kv/${at}${name}`, value);
  const pair = (name: string) => pairAt(gateway, `${at}${name}`);

  test('does all that it is asked, each on what the one before has left', async () => {
    await put('old', 'o');
    const { ModifyIndex } = (await pair('old'))!;

    const { status, Results, Errors } = await run(
      { Verb: 'set', Key: `${at}a`, Value: base64('1'), Flags: 3 },
      { Verb: 'get', Key: `${at}a` },
      { Verb: 'cas', Key: `${at}old`, Value: base64('n'), Index: ModifyIndex },
      { Verb: 'get-tree', Key: at },
      { Verb: 'check-not-exists', Key: `${at}never` },
      { Verb: 'get-or-empty', Key: `${at}never` },
      { Verb: 'delete', Key: `${at}nothing` },
    );

    expect({ status, Errors }).toEqual({ status: 200, Errors: null });
    expect(Results?.map(({ KV }) => [KV.Key, KV.Value])).toEqual([
      [`${at}a`, null],
      [`${at}a`, base64('1')],
      [`${at}old`, null],
      [`${at}a`, base64('1')],
      [`${at}old`, base64('n')],
      [`${at}never`, null],
    ]);
    expect(await pair('a')).toMatchObject(Results![1]!.KV);
    expect(await pair('old')).toMatchObject(Results![4]!.KV);
  });

  test('does nothing at all when one of them may not be done, and says which and why', async () => {
    await put('a', 'kept');
    await put('b', 'kept');

    const { status, Results, Errors } = await run(
      { Verb: 'set', Key: `${at}new`, Value: base64('x') },
      { Verb: 'delete', Key: `${at}a` },
      { Verb: 'cas', Key: `${at}b`, Value: base64('x'), Index: 1 },
      { Verb: 'delete-cas', Key: `${at}b`, Index: 1 },
      { Verb: 'get', Key: `${at}never` },
      { Verb: 'check-index', Key: `${at}b`, Index: 2 },
      { Verb: 'check-session', Key: `${at}b`, Session: 'abc' },
      { Verb: 'check-not-exists', Key: `${at}b` },
      { Verb: 'unlock', Key: `${at}b`, Session: 'abc' },
      { Verb: 'lock', Key: `${at}b`, Session: 'abc' },
    );

    expect({ status, Results }).toEqual({ status: 409, Results: null });
    const { ModifyIndex } = (await pair('b'))!;
    expect(Errors).toEqual([
      { OpIndex: 2, What: `failed to set key "${at}b", index is stale` },
      { OpIndex: 3, What: `failed to delete key "${at}b", index is stale` },
      { OpIndex: 4, What: `key "${at}never" doesn't exist` },
      { OpIndex: 5, What: `failed index check for key "${at}b", current modify index ${ModifyIndex} != 2` },
      { OpIndex: 6, What: `failed session check for key "${at}b", current session "" != "abc"` },
      { OpIndex: 7, What: `key "${at}b" exists` },
      { OpIndex: 8, What: `failed to unlock key "${at}b", lock isn't held, or is held by another session` },
      { OpIndex: 9, What: 'invalid session "abc"' },
    ]);
    expect(await pair('new')).toBeUndefined();
    expect(await pair('a')).toMatchObject({ Value: base64('kept') });
  });

  test('knows the lock-delay', async () => {
    const [one, two] = [await newSession(gateway), await newSession(gateway)];
    await ask(gateway, 'PUT', `kv/${at}l?acquire=${one}`);
    await ask(gateway, 'PUT', `session/destroy/${one}`);

    expect((await run({ Verb: 'lock', Key: `${at}l`, Session: two })).Errors).toEqual([
      { OpIndex: 0, What: `failed to lock key "${at}l" due to lock delay` },
    ]);
  });

  test('is done one at a time: counters that many add to at once lose nothing', async () => {
    await put('n', '0');
    await put('m', '0');
    const add = async (): Promise<void> => {
      for (;;) {
        const [n, m] = [(await pair('n'))!, (await pair('m'))!];
        const next = base64(String(Number(Buffer.from(n.Value ?? '', 'base64').toString()) + 1));
        const { status } = await run(
          { Verb: 'cas', Key: `${at}n`, Value: next, Index: n.ModifyIndex },
          { Verb: 'cas', Key: `${at}m`, Value: next, Index: m.ModifyIndex },
        );
        if (status === 200) return;
      }
    };

    await Promise.all(Array.from({ length: 8 }, add));

    expect([(await pair('n'))?.Value, (await pair('m'))?.Value]).toEqual([base64('8'), base64('8')]);
  });

  test.each([
    ['no JSON', '[{', 400],
    ['no body', '', 400],
    ['no list', '{}', 400],
    ['an index that is none', '[{"KV":{"Verb":"cas","Key":"a","Index":-1}}]', 400],
    ['too many', JSON.stringify(Array.from({ length: 129 }, () => ({ KV: { Verb: 'get', Key: 'a' } }))), 413],
    ['too large a value', JSON.stringify([{ KV: { Verb: 'set', Key: 'a', Value: 'A'.repeat(100_000) } }]), 413],
    ['too large a body', JSON.stringify([{ KV: { Verb: 'set', Key: 'a', Value: 'A'.repeat(520_000) } }]), 413],
  ])('refuses %s', async (_what, body, status) => {
    expect((await ask(gateway, 'PUT', 'txn', body)).status).toBe(status);
  });

  test.each([
    ['an unknown verb', { Verb: 'seize', Key: 'a' }, 'unknown KV operation: seize'],
    ['a verb that every object has', { Verb: 'toString', Key: 'a' }, 'unknown KV operation: toString'],
    ['no verb', { Key: 'a' }, 'unknown KV operation: '],
    ['no key', { Verb: 'get' }, 'Must provide key'],
    ['a lock without a session', { Verb: 'lock', Key: 'a' }, 'missing session'],
    ['an unlock without a session', { Verb: 'unlock', Key: 'a' }, 'missing session'],
    ['a key that no row can have', { Verb: 'set', Key: 'k'.repeat(513) }, expect.stringContaining('at most 512')],
  ])('says of %s which operation it was, and why', async (_what, operation, What: unknown) => {
    const outcome = await run({ Verb: 'check-not-exists', Key: `${at}none` }, operation);

    expect(outcome).toMatchObject({ status: 409, Results: null, Errors: [{ OpIndex: 1, What }] });
  });

  test.each([
    ['nothing', 'null'],
    ['no operation', '[]'],
    ['operations of no kind', '[{}, {"KV":null}]'],
  ])('of %s comes to nothing', async (_what, body) => {
    expect(await ask(gateway, 'PUT', 'txn', body)).toMatchObject({ status: 200, json: { Results: [], Errors: null } });
  });

  test('reports reads even if it only reads', async () => {
    const [reading, writing] = [
      await run({ Verb: 'get-or-empty', Key: `${at}a` }),
      await run({ Verb: 'set', Key: `${at}a` }),
    ];

    expect(reading).toMatchObject({ status: 200, KnownLeader: true, LastContact: 0 });
    expect(writing).not.toHaveProperty('KnownLeader');
  });

  test('refuses the other kinds of operations, by their places', async () => {
    const body = JSON.stringify([{ KV: { Verb: 'get-or-empty', Key: 'a' } }, { Node: { Verb: 'get' } }]);

    expect(await ask(gateway, 'PUT', 'txn', body)).toMatchObject({
      status: 409,
      json: { Results: null, Errors: [{ OpIndex: 1, What: 'only KV operations are known here' }] },
    });
  });

  test('reports a lock-delay alone, as of the read before any attempt', async () => {
    const [one, two] = [await newSession(gateway), await newSession(gateway)];
    await ask(gateway, 'PUT', `kv/${at}l?acquire=${one}`);
    await ask(gateway, 'PUT', `session/destroy/${one}`);

    const { Errors } = await run({ Verb: 'get', Key: `${at}none` }, { Verb: 'lock', Key: `${at}l`, Session: two });

    expect(Errors).toEqual([{ OpIndex: 1, What: `failed to lock key "${at}l" due to lock delay` }]);
  });

  test.each(['*', 'A', '=', 'QQ', 'AAAA='])('refuses the value %s, which is not base64', async (value) => {
    const body = JSON.stringify([{ KV: { Verb: 'set', Key: `${at}bad`, Value: value } }]);

    expect(await ask(gateway, 'PUT', 'txn', body)).toMatchObject({ status: 400 });
    expect(await pair('bad')).toBeUndefined();
  });
});
