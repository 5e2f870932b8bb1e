import { expect, test } from 'vitest';
import { MismatchError } from '../../../../shared/core/errors.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

test('ends a wait for a missing group at once', async () => {
  const world = simulatedWorld();
  const group = await world.start().leasehold.waitGroup('g', { generation: 5 });

  await expect(passTime(world, group.wait())).rejects.toThrow(MismatchError);
  await expect(group.wait({ wait: 0 })).rejects.toThrow('wait group g (generation 5) does not exist');
});

test('ends a wait for a future generation when that generation ends', async () => {
  const world = simulatedWorld();
  const { leasehold } = world.start();
  const first = await leasehold.waitGroup('g');
  const later = await leasehold.waitGroup('g', { generation: first.generation + 1 });
  const waiting = later.wait();
  await first.add(1, { seal: true });
  for await (const { id } of first.members()) await first.done(id);
  await first.wait();

  const second = await first.next();
  await second.add([], { seal: true });

  expect(await passTime(world, waiting)).toEqual({ kind: 'complete', members: 0, lost: 0 });
});
