/** One row that cannot be read fails its own key, and no prefix above it. */
import { beforeEach, describe, expect, test } from 'vitest';
import { lockKey, sessionKey } from '../../../shared/dynamo/engine/keys.ts';
import { CorruptItemError } from '../../../shared/core/errors.ts';
import type { MemoryGateway } from '../memory-gateway.ts';
import { openMemoryGateway } from '../memory-gateway.ts';
import { passTime } from '../../../test/support/coordination.ts';

describe('a prefix', () => {
  let gateway: MemoryGateway;

  const ask = (method: string, path: string, body?: string) => gateway.ask(method, path, body);
  const keys = async (path = 'kv/q/?keys') => JSON.parse((await ask('GET', path)).text) as readonly string[];

  async function damage(key: { readonly pk: string; readonly sk: string }, change: object): Promise<void> {
    const Item = { ...(await gateway.world.row(key)), ...change };
    const input = { TableName: gateway.world.table, Item };
    await gateway.world.driver.attempt('put', input, new AbortController().signal);
  }

  beforeEach(async () => {
    gateway = openMemoryGateway();
    for (const name of ['a', 'b', 'c']) await ask('PUT', `kv/q/${name}`, name);
  });

  describe.each([
    ['damaged', { nonce: 7 }],
    ['of another version', { v: 999 }],
  ])('above a key whose row is %s', (_what, change) => {
    beforeEach(() => damage(lockKey('q/b'), change));

    test('is listed without the damaged row, and the operator is warned', async () => {
      expect(await keys()).toEqual(['q/a', 'q/c']);
      expect((await ask('GET', 'kv/q/?recurse')).status).toBe(200);

      expect(gateway.failures).toHaveLength(2);
      expect(gateway.failures[0]).toBeInstanceOf(CorruptItemError);
      expect((await ask('GET', 'kv/q/b')).status).toBe(500);
    });

    test('is watched', async () => {
      const { headers } = await ask('GET', 'kv/q/?keys');
      const index = headers.get('x-consul-index') ?? '';
      const watching = ask('GET', `kv/q/?keys&index=${index}&wait=1m`);
      await ask('PUT', 'kv/q/d', 'd');

      expect(JSON.parse((await passTime(gateway.world, watching)).text)).toEqual(['q/a', 'q/c', 'q/d']);
    });

    test('is not said to be deleted while it is there, although the others are', async () => {
      const deletion = await ask('DELETE', 'kv/q/?recurse');

      expect(deletion.status).toBe(500);
      expect(deletion.text).toMatch(/q\/b/);
      expect((await ask('GET', 'kv/q/?keys')).status).toBe(404);
      expect(await gateway.world.row(lockKey('q/b'))).toMatchObject(change);
    });

    test('is not deleted by an all-or-nothing transaction', async () => {
      const body = JSON.stringify([{ KV: { Verb: 'delete-tree', Key: 'q/' } }]);

      expect((await ask('PUT', 'txn', body)).status).toBe(500);
      expect(await keys()).toEqual(['q/a', 'q/c']);
    });
  });

  test('above a key whose holder’s session is damaged shows it as held', async () => {
    const session = await gateway.newSession();
    await ask('PUT', `kv/q/b?acquire=${session}`, 'held');
    await damage(sessionKey(session), { renewals: 'damaged' });

    expect(await keys()).toEqual(['q/a', 'q/b', 'q/c']);
    const { text } = await ask('GET', 'kv/q/?recurse');
    expect((JSON.parse(text) as { Session?: string }[]).map(({ Session }) => Session)).toEqual([
      undefined,
      session,
      undefined,
    ]);
    expect(gateway.failures[0]).toBeInstanceOf(CorruptItemError);
    expect(await ask('DELETE', 'kv/q/?recurse')).toMatchObject({ status: 200, text: 'true' });
    expect((await ask('GET', 'kv/q/?keys')).status).toBe(404);
  });

  test('above a key whose holder’s session is damaged is shown by a transaction as well', async () => {
    const session = await gateway.newSession();
    await ask('PUT', `kv/q/b?acquire=${session}`, 'held');
    await damage(sessionKey(session), { renewals: 'damaged' });

    const { status, text } = await ask('PUT', 'txn', JSON.stringify([{ KV: { Verb: 'get-tree', Key: 'q/' } }]));

    expect(status).toBe(200);
    const { Results } = JSON.parse(text) as { Results: { KV: { Session?: string } }[] };
    expect(Results.map(({ KV }) => KV.Session)).toEqual([undefined, session, undefined]);
    expect(gateway.failures[0]).toBeInstanceOf(CorruptItemError);
  });
});
