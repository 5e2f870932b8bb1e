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

/** Results of others that need a session with a damaged row: each error by its name, each answer by its kind. */
test.each([
  [
    'does not decode',
    { lockDelayMs: 'soon' },
    {
      'the wait for its end': 'CorruptItemError',
      'a try for its lock': 'CorruptItemError',
      'a try for its lock and another': 'CorruptItemError',
      'a look at its lock': 'live, until null',
      'the sequencer of its lock': 'CorruptItemError',
      'a try for its permit': 'full, until null',
      'a look at its permit': 'damaged',
      'the end of its lock by force': 'closed for 61000 ms',
      'the eviction of its permit': 'closed for 60000 ms',
    },
  ],
  [
    'expires beyond reason',
    { expiresAt: Date.parse('2100-01-01') },
    {
      'the wait for its end': 'ConfigurationError',
      'a try for its lock': 'CorruptItemError',
      'a try for its lock and another': 'CorruptItemError',
      'a look at its lock': 'live, until null',
      'the sequencer of its lock': 'sessionDead',
      'a try for its permit': 'full, until null',
      'a look at its permit': 'damaged',
      // No longer than a renewal gives, which no expiry can exceed.
      'the end of its lock by force': 'closed for 302000 ms',
      'the eviction of its permit': 'closed for 301000 ms',
    },
  ],
])(
  'a session that %s stays as it is, and its right is neither taken nor said to be free',
  async (_what, change, expected) => {
    const world = simulatedWorld();
    const [here, there] = [world.start().leasehold, world.start().leasehold];
    const session = await here.session({ ttl: '5m' });
    const mine = await there.session({ ttl: '5m' });
    const { sequencer, leaseCounter } = await session.lock('k');
    const { fencingToken: token } = await session.permit('s', { limit: 1 });
    await damageSession(world, session.id, change);
    const by = { by: 'ann', reason: 'damaged' };
    const closed = (until: number | undefined): string => `closed for ${(until ?? 0) - world.clock.now()} ms`;
    const acts: Record<keyof typeof expected, () => Promise<unknown>> = {
      'the wait for its end': () => there.sessions.waitForEnd(session.id),
      'a try for its lock': () => mine.tryLock('k'),
      'a try for its lock and another': () => mine.tryLockAll(['j', 'k']),
      'a look at its lock': async () => `live, until ${(await there.locks.get('k'))?.holder?.until}`,
      'the sequencer of its lock': async () => (await there.verify(sequencer)).kind,
      'a try for its permit': async () => {
        const tried = await mine.tryPermit('s', { limit: 1 });
        return tried.kind === 'full' ? `full, until ${tried.until}` : tried.kind;
      },
      'a look at its permit': async () => (await there.semaphores.get('s'))?.holders[0]?.standing,
      'the end of its lock by force': async () => {
        const forced = await there.locks.forceRelease('k', { ...by, leaseCounter });
        return forced.kind === 'released' ? closed(forced.closedUntil) : forced.kind;
      },
      'the eviction of its permit': async () =>
        closed((await there.semaphores.evict('s', { ...by, token }))?.closedUntil),
    };

    const found: Record<string, unknown> = {};
    for (const [what, act] of Object.entries(acts))
      found[what] = await act().catch((error: unknown) => (error as Error).name);

    expect(found).toEqual(expected);
    expect(await world.row({ pk: `session#${session.id}`, sk: 'session' })).toMatchObject({
      status: 'live',
      ...change,
    });
  },
);
