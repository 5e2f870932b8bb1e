/** Each setting of a session is in its row or in its holder, and each default is what the documents say. */
import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import type { SessionSettings } from '../../../shared/client/leasehold.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';

const DEFAULTS = {
  name: 'leasehold',
  node: hostname(),
  ttlMs: 30_000,
  lockDelayMs: 15_000,
  behaviour: 'release',
};

describe('a session', () => {
  test.each<[SessionSettings, object]>([
    [{}, {}],
    [{ ttl: '12s' }, { ttlMs: 12_000 }],
    [{ ttl: null }, { ttlMs: null, expiresAt: null }],
    [{ lockDelay: 0 }, { lockDelayMs: 0 }],
    [{ lockDelay: '3s' }, { lockDelayMs: 3_000 }],
    [{ behavior: 'delete' }, { behaviour: 'delete' }],
    [{ name: 'mine' }, { name: 'mine' }],
    [{ node: 'fra' }, { node: 'fra' }],
    [{ ttl: undefined, heartbeat: undefined, behavior: undefined, name: undefined, node: undefined }, {}],
  ])('with %o has that in its row', async (settings, written) => {
    const { leasehold } = simulatedWorld().start();

    const { id } = await leasehold.session(settings);

    expect(await leasehold.sessions.get(id)).toMatchObject({ ...DEFAULTS, ...written });
  });

  test.each<[object, string]>([
    [{ name: null }, 'session name is null: must be a string'],
    [{ node: null }, 'node is null: must be a string'],
    [{ behavior: 'keep' }, `behavior = "keep": must be 'release' or 'delete'`],
    [{ name: '' }, 'session name is empty'],
    [{ node: '' }, 'node is empty'],
    [{ ttl: '1s', heartbeat: '1s' }, 'heartbeat'],
    [{ lockDelay: '61s' }, 'lockDelay'],
    [{ timeout: '1s' }, 'unknown option "timeout"'],
  ])('with %o is refused', async (settings, message) => {
    const world = simulatedWorld();
    const { leasehold } = world.start();

    await expect(leasehold.session(settings as SessionSettings)).rejects.toThrow(message);
    expect(world.rows()).toEqual([]);
  });

  test('is renewed in its own heartbeat, by the bound on clocks of its client, and tells its events', async () => {
    const world = simulatedWorld();
    const { leasehold, runtime } = world.start({ maxClockSkew: '500ms' });
    const told: string[] = [];
    const events = { onRenewed: () => void told.push('renewed'), onLost: () => void told.push('lost') };
    const session = await leasehold.session({ ttl: '20s', heartbeat: '2s', events });

    await passTime(world, runtime.clock.sleep(6_500));
    const renewed = told.length;
    await leasehold.sessions.destroy(session.id);
    await passTime(world, runtime.clock.sleep(3_000));

    expect(session.holder.timing).toMatchObject({ ttlMs: 20_000, heartbeatMs: 2_000, maxClockSkewMs: 500 });
    expect(renewed).toBeGreaterThanOrEqual(3);
    expect(told.slice(renewed)).toEqual(['lost']);
  });
});

describe('a client', () => {
  test('opens the current generation of a wait group, or the requested one', async () => {
    const { leasehold } = simulatedWorld().start();
    const first = await leasehold.waitGroup('steps');

    expect((await leasehold.waitGroup('steps', { generation: first.generation })).generation).toBe(first.generation);
    expect((await leasehold.waitGroup('steps', { generation: 7 })).generation).toBe(7);
    await expect(leasehold.waitGroup('steps', { limit: 1 } as never)).rejects.toThrow('unknown option "limit"');
  });
});

test('a client without its own connection creates no table', async () => {
  await expect(simulatedWorld().start().leasehold.createTable()).rejects.toThrow('create the table yourself');
});
