/** A machine whose clock is proven wrong takes part in nothing that clocks decide. */
import { expect, test } from 'vitest';
import { ClockSkewError } from '../../../../shared/core/errors.ts';
import type { Session } from '../../../../shared/client/session.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

const BEGINNINGS: readonly [string, (session: Session) => Promise<unknown>][] = [
  ['lock', (session) => session.lock('k')],
  ['tryLock', (session) => session.tryLock('k')],
  ['lockAll', (session) => session.lockAll(['k', 'l'])],
  ['campaign', (session) => session.campaign('k')],
  ['permit', (session) => session.permit('k', { limit: 1 })],
  ['tryPermit', (session) => session.tryPermit('k', { limit: 1 })],
];

test.each(BEGINNINGS)('%s is refused', async (_name, begin) => {
  const world = simulatedWorld();
  const { leasehold, provenSkew } = world.start();
  const session = await leasehold.session({ ttl: '30s' });
  provenSkew.ms = 3_600_000;

  await expect(passTime(world, begin(session))).rejects.toThrow(ClockSkewError);

  expect(await leasehold.locks.get('k')).toBeUndefined();
  expect(await leasehold.semaphores.get('k')).toBeUndefined();
  provenSkew.ms = 0;
  await passTime(world, begin(session));
});
