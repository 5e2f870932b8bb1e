import { expect, test } from 'vitest';
import { simulatedWorld, passTime } from '../../../support/coordination.ts';

test('sends no lease for a session that ended while the lease waited', async () => {
  const world = simulatedWorld();
  const { leasehold, driver } = world.start();
  const session = await leasehold.session();
  const group = await leasehold.waitGroup('g');
  await group.add(['a']);
  driver.accidents.push('dropRequest');
  const leasing = group.lease('a', session.holder);

  await Promise.all([session.end(), expect(passTime(world, leasing)).rejects.toThrow()]);

  expect(await Array.fromAsync(group.members())).toMatchObject([{ id: 'a', state: 'pending', session: undefined }]);
});
