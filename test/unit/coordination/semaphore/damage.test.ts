import { describe, expect, test } from 'vitest';
import { semaphoreKey, sessionKey } from '../../../../shared/dynamo/engine/keys.ts';
import { CorruptItemError } from '../../../../shared/core/errors.ts';
import { MAX_LOCK_DELAY_MS } from '../../../../shared/core/lease/timing.ts';
import type { World } from '../../../support/coordination.ts';
import { simulatedWorld } from '../../../support/coordination.ts';

describe('a damaged row', () => {
  async function damage(world: World, key: { readonly pk: string; readonly sk: string }, attribute: string) {
    const Item = { ...(await world.row(key)), [attribute]: 'damaged' };
    await world.driver.attempt('put', { TableName: world.table, Item }, new AbortController().signal);
  }

  test('keeps the permit of a damaged session, shows it, and lets an operator revoke it', async () => {
    const world = simulatedWorld();
    const { leasehold } = world.start();
    const broken = await leasehold.session({ lockDelay: 0 });
    const permit = await broken.permit('slots', { limit: 2 });
    await damage(world, sessionKey(broken.id), 'renewals');
    const session = await leasehold.session();
    await session.permit('slots', { limit: 2 });

    expect((await session.tryPermit('slots', { limit: 2 })).kind).toBe('full');
    expect(await leasehold.semaphores.get('slots')).toMatchObject({
      inUse: 2,
      holders: [{ standing: 'damaged', sessionName: undefined }, { standing: 'live' }],
    });
    const eviction = { token: permit.fencingToken, by: 'ann', reason: 'damaged' };
    expect(await leasehold.semaphores.evict('slots', eviction)).toMatchObject({
      closedUntil: world.clock.now() + MAX_LOCK_DELAY_MS,
    });
  });

  test('leaves a damaged semaphore unchanged, and refuses everyone', async () => {
    const world = simulatedWorld();
    const { leasehold } = world.start();
    const session = await leasehold.session();
    await session.permit('slots', { limit: 2 });
    await damage(world, semaphoreKey('slots'), 'free');

    await expect(session.tryPermit('slots', { limit: 2 })).rejects.toThrow(CorruptItemError);
    await expect(leasehold.semaphores.get('slots')).rejects.toThrow(/free should be a number/);
    expect((await session.tryPermit('others', { limit: 2 })).kind).toBe('acquired');
  });
});
