import { expect, test } from 'vitest';
import type { WaitGroup } from '../../../../shared/coordination/waitgroup/group.ts';
import { MismatchError } from '../../../../shared/core/errors.ts';
import type { Process } from '../../../support/coordination.ts';
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

test.each<[string, (group: WaitGroup, here: Process) => Promise<WaitGroup>]>([
  ['was opened', ({ name }, here) => here.leasehold.waitGroup(name)],
  ['was opened by its number', ({ name, generation }, here) => here.leasehold.waitGroup(name, { generation })],
  [
    'was begun',
    async (group) => {
      await group.add([], { seal: true });
      await group.wait();
      return group.next();
    },
  ],
])('a generation that %s allows for the clock bound before it loses a member', async (_how, open) => {
  const world = simulatedWorld();
  const [here, there] = [world.start(), world.start()];
  const group = await open(await here.leasehold.waitGroup('g'), here);
  const session = await there.leasehold.session({ ttl: '10s', lockDelay: 0 });
  await group.add(['a'], { session: session.holder, seal: true });
  there.driver.isDown = true;

  await world.clock.advance(10_500);
  expect(await group.wait({ wait: 0 })).toMatchObject({ kind: 'pending', pending: ['a'] });
  await world.clock.advance(2_000);
  expect(await passTime(world, group.wait({ wait: '10s' }))).toEqual({ kind: 'complete', members: 1, lost: 1 });
});
