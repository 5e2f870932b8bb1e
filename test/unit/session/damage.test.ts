/** One row that does not decode hides no other from a list. */
import { expect, test, vi } from 'vitest';
import type { World } from '../../support/coordination.ts';
import { simulatedWorld } from '../../support/coordination.ts';

const CORRUPT = { name: 'CorruptItemError' };

async function damage(world: World, key: { pk: string; sk: string }, change: object): Promise<void> {
  const row = await world.row(key);
  await world.driver.attempt(
    'put',
    { TableName: world.table, Item: { ...row, ...change } },
    new AbortController().signal,
  );
}

const damageSession = (world: World, id: string, change: object = { lockDelayMs: 'soon' }): Promise<void> =>
  damage(world, { pk: `session#${id}`, sk: 'session' }, change);

const damageLock = (world: World, key: string): Promise<void> =>
  damage(world, { pk: `lock#${key}`, sk: 'lock' }, { modifyIndex: 'x' });

test('of sessions', async () => {
  const world = simulatedWorld();
  const { leasehold } = world.start();
  const [damaged, sound] = [await leasehold.session({ name: 'a' }), await leasehold.session({ name: 'b' })];
  await damageSession(world, damaged.id);
  const onDamaged = vi.fn<(error: unknown) => void>();

  const listed = await Array.fromAsync(leasehold.sessions.list('', onDamaged));

  expect(listed.map(({ id }) => id)).toEqual([sound.id]);
  expect(onDamaged.mock.calls).toMatchObject([[CORRUPT]]);
  expect(await Array.fromAsync(leasehold.sessions.list())).toHaveLength(1);
});

test('ends the sessions that are bound to a failing check', async () => {
  const world = simulatedWorld();
  const { leasehold } = world.start();
  const check = await leasehold.health.register('n', 'disk');
  const damaged = await leasehold.session({ name: 'a' });
  const bound = await leasehold.session({ name: 'b', node: 'n', checks: ['disk'] });
  await damageSession(world, damaged.id);

  expect(await check.fail('gone')).toBe(1);

  expect(await leasehold.sessions.get(bound.id)).toMatchObject({ status: 'invalid', reason: 'check' });
});

test('of locks', async () => {
  const world = simulatedWorld();
  const { leasehold } = world.start();
  for (const key of ['a', 'b', 'c']) await leasehold.locks.put(key, 'value');
  await damageLock(world, 'b');
  const onDamaged = vi.fn<(error: unknown) => void>();

  const listed = await Array.fromAsync(leasehold.locks.list('', onDamaged));

  expect(listed.map(({ key }) => key)).toEqual(['a', 'c']);
  expect(onDamaged.mock.calls).toMatchObject([[CORRUPT]]);
});

test.each([
  ['does not decode', { lockDelayMs: 'soon' }],
  ['expires beyond reason', { expiresAt: Date.parse('2100-01-01') }],
])('and a lock whose session %s is listed as held, and is not let go', async (_what, change) => {
  const world = simulatedWorld();
  const { leasehold } = world.start();
  const session = await leasehold.session();
  await session.lock('a', { value: 'mine' });
  await leasehold.locks.put('b', 'value');
  await damageSession(world, session.id, change);
  const before = await world.row({ pk: 'lock#a', sk: 'lock' });
  const onDamaged = vi.fn<(error: unknown) => void>();

  const listed = await Array.fromAsync(leasehold.locks.list('', onDamaged));

  expect(listed).toMatchObject([
    { key: 'a', value: 'mine', holder: { session: session.id, until: null } },
    { key: 'b', holder: undefined },
  ]);
  expect(onDamaged.mock.calls).toMatchObject([[CORRUPT]]);
  expect(await world.row({ pk: 'lock#a', sk: 'lock' })).toEqual(before);
});
