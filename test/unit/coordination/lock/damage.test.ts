import { expect, test } from 'vitest';
import { sessionKey } from '../../../../shared/dynamo/engine/keys.ts';
import { CorruptItemError } from '../../../../shared/core/errors.ts';
import { MAX_LOCK_DELAY_MS } from '../../../../shared/core/lease/timing.ts';
import { simulatedWorld } from '../../../support/coordination.ts';

test("keeps a key closed and listed while its holder's session is damaged, until an operator releases it", async () => {
  const world = simulatedWorld();
  const { leasehold } = world.start();
  const broken = await leasehold.session({ lockDelay: 0 });
  const lock = await broken.lock('k');
  const Item = { ...(await world.row(sessionKey(broken.id))), renewals: 'damaged' };
  await world.driver.attempt('put', { TableName: world.table, Item }, new AbortController().signal);
  const session = await leasehold.session();

  await expect(session.tryLock('k')).rejects.toThrow(CorruptItemError);
  expect(await leasehold.locks.get('k')).toMatchObject({
    holder: { session: broken.id, leaseCounter: lock.fencingToken, name: 'unknown', until: null },
  });

  const force = { by: 'ann', reason: 'damaged', leaseCounter: lock.fencingToken };
  const closedUntil = world.clock.now() + MAX_LOCK_DELAY_MS + broken.holder.timing.maxClockSkewMs;
  expect(await leasehold.locks.forceRelease('k', force)).toEqual({ kind: 'released', closedUntil, trustedUntil: 0 });

  await world.clock.advance(closedUntil - world.clock.now());
  expect((await session.tryLock('k')).kind).toBe('acquired');
});
