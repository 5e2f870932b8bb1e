/** Lists and walks whose store answers with one row at a time: they show and do the same as with whole pages. */
import { expect, test } from 'vitest';
import type { Process } from '../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';

/** From now on each query of the process has pages of one row. */
function answerInSmallPages({ driver }: Process): void {
  const attempt = driver.attempt.bind(driver);
  driver.attempt = (kind, input, signal) => attempt(kind, kind === 'query' ? { ...input, Limit: 1 } : input, signal);
}

/** More than a listing has partitions, so that some partition has a second page. */
const NAMES = Array.from('abcdefghijklmnopqrst');
const members = ['m1', 'm2', 'm3', 'm4'];

async function scene() {
  const world = simulatedWorld();
  const here = world.start();
  const { leasehold } = here;
  const session = await leasehold.session({ ttl: '10m', name: 'z' });
  for (const name of NAMES) {
    await session.lock(name, { value: name });
    await session.permit(name, { limit: 2 });
    await leasehold.session({ ttl: '10m', name });
  }
  const group = await leasehold.waitGroup('g');
  await group.add(members, { seal: true });
  for (const id of members) await group.done(id);
  answerInSmallPages(here);
  return { world, leasehold, group };
}

type Scene = Awaited<ReturnType<typeof scene>>;

test.each<[string, (scene: Scene) => Promise<unknown>, unknown]>([
  [
    'sessions',
    async ({ leasehold }) => (await Array.fromAsync(leasehold.sessions.list())).map(({ name }) => name),
    [...NAMES, 'z'],
  ],
  ['locks', async ({ leasehold }) => (await Array.fromAsync(leasehold.locks.list())).map(({ key }) => key), NAMES],
  [
    'locks that begin with a text',
    async ({ leasehold }) => (await Array.fromAsync(leasehold.locks.list('b'))).map(({ key }) => key),
    ['b'],
  ],
  ['semaphores', ({ leasehold }) => Array.fromAsync(leasehold.semaphores.list()), NAMES],
  ['members', async ({ group }) => (await Array.fromAsync(group.members())).map(({ id }) => id), members],
  ['the wait for members', ({ group }) => group.wait({ wait: '1s' }), { kind: 'complete', members: 4, lost: 0 }],
])('of %s', async (_what, act, expected) => {
  const there = await scene();

  expect(await passTime(there.world, act(there))).toEqual(expected);
});
