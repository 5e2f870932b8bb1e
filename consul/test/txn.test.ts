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
    ['a verb that every object has', { Verb: 'toString', Key: 'a' }, 'unknown KV operation: toString'],
    ['no verb', { Key: 'a' }, 'unknown KV operation: '],
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
