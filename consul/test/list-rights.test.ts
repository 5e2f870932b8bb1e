/** Lists of keys and their indexes reveal nothing about keys that a caller may not read, and cost nothing if it may read none. */
import { describe, expect, test } from 'vitest';
import { openMemoryGateway } from './memory-gateway.ts';

const ADMIN = { 'X-Consul-Token': 'secret-of-the-admin-0123456789' };
const LIMITED = { 'X-Consul-Token': 'secret-of-the-limited-0123456789' };
const nothing = { keys: {}, sessions: 'deny', nodes: 'deny' } as const;

function open() {
  return openMemoryGateway([
    { ...nothing, name: 'admin', secret: ADMIN['X-Consul-Token'], keys: { '': 'write' }, sessions: 'write' },
    {
      ...nothing,
      name: 'limited',
      secret: LIMITED['X-Consul-Token'],
      keys: { 'public/': 'read', 'public/sealed': 'deny' },
    },
  ]);
}

describe('a list of keys', () => {
  test.each([
    ['without a token', {}, ['kv/?recurse', 'kv/?keys', 'kv/public/?recurse', 'kv/?recurse&index=7&wait=1s']],
    [
      'of a prefix without a right',
      LIMITED,
      ['kv/sealed/?recurse', 'kv/sealed/?keys', 'kv/public/sealed/?keys&index=7'],
    ],
  ])('is denied to a caller %s, before anything is read', async (_who, headers, paths) => {
    const gateway = open();
    await gateway.ask('PUT', 'kv/sealed/a', 'a secret', ADMIN);
    const before = gateway.requests();

    for (const path of paths) {
      const answer = await gateway.ask('GET', path, undefined, headers);

      expect(answer, path).toMatchObject({ status: 403, text: 'Permission denied' });
      expect(answer.headers.get('X-Consul-Index')).toBeNull();
    }
    expect(gateway.requests()).toBe(before);
  });

  test.each(['kv/?recurse', 'kv/public/?keys'])(
    'has an index that follows the keys that its caller may read (%s)',
    async (path) => {
      const gateway = open();
      const write = (key: string, value: string) => gateway.ask('PUT', `kv/${key}`, value, ADMIN);
      const index = async (headers: Readonly<Record<string, string>>) =>
        Number((await gateway.ask('GET', path, undefined, headers)).headers.get('X-Consul-Index'));
      await write('public/a', '1');
      const [first, all] = [await index(LIMITED), await index(ADMIN)];

      await write('public/sealed', 'new');
      await gateway.world.clock.advance(5_000);
      await write('other', 'new');
      const second = await index(LIMITED);
      const allAfter = await index(ADMIN);
      const third = await index(LIMITED);
      await write('public/a', '2');
      const last = await index(LIMITED);

      expect(allAfter).toBeGreaterThan(all);
      expect([second, third]).toEqual([first, first]);
      expect(last).toBeGreaterThan(first);
    },
  );
});

test('ends any session with `sessions: write`, including a holder of unreadable keys', async () => {
  const gateway = openMemoryGateway([
    { ...nothing, name: 'admin', secret: ADMIN['X-Consul-Token'], keys: { '': 'write' }, sessions: 'write' },
    {
      ...nothing,
      name: 'limited',
      secret: LIMITED['X-Consul-Token'],
      keys: { 'billing/': 'write' },
      sessions: 'write',
    },
  ]);
  const session = await gateway.newSession({}, ADMIN);
  await gateway.ask('PUT', `kv/sealed?acquire=${session}`, 'held', ADMIN);

  const end = await gateway.ask('PUT', `session/destroy/${session}`, undefined, LIMITED);

  expect(end.status).toBe(200);
  expect((await gateway.ask('GET', 'kv/sealed', undefined, ADMIN)).text).not.toContain(session);
});
