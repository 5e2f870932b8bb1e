/** Each act of a client that judges the session of another process waits for the client's own bound on clocks, and for no other. */
import { expect, test } from 'vitest';
import type { Leasehold } from '../../../shared/client/leasehold.ts';
import { stampOf } from '../../../shared/core/lease/write.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';

const TTL_MS = 30_000;
const BOUND_MS = 5_000;

type Judge = (here: Leasehold, sequencer: string) => Promise<unknown>;

/** The answers while the session may live, and after its end. */
const JUDGES: Readonly<Record<string, readonly [judge: Judge, alive: unknown, over: unknown]>> = {
  'try its lock': [
    async (here) => (await (await here.session({ ttl: '20s' })).tryLock('lock')).kind,
    'held',
    'acquired',
  ],
  'campaign against it': [
    async (here) => (await (await here.session({ ttl: '20s' })).tryCampaign('election')).kind,
    'held',
    'elected',
  ],
  'try its permit': [
    async (here) => (await (await here.session({ ttl: '20s' })).tryPermit('permits', { limit: 1 })).kind,
    'full',
    'acquired',
  ],
  'count the places in use': [async (here) => (await here.semaphores.get('permits'))?.inUse, 1, 0],
  'verify the sequencer of its lock': [
    async (here, sequencer) => (await here.verify(sequencer)).kind,
    'valid',
    'sessionDead',
  ],
  'cancel its task': [async (here) => (await here.operator.cancel('task')).kind, 'requested', 'cancelled'],
  'wait for its member': [
    async (here) => {
      const { kind } = await (await here.waitGroup('group')).wait({ wait: 0 });
      return kind;
    },
    'pending',
    'complete',
  ],
};

async function afterDeath(ageMs: number) {
  const world = simulatedWorld();
  const there = world.start();
  const { leasehold, ports, runtime } = there;
  const session = await leasehold.session({ ttl: TTL_MS, lockDelay: 0 });
  const acquired = await session.tryLock('lock');
  if (acquired.kind !== 'acquired') throw new Error(acquired.kind);
  await session.tryCampaign('election');
  await session.tryPermit('permits', { limit: 1 });
  await (await leasehold.waitGroup('group')).add(['member'], { session: session.holder, seal: true });
  await leasehold.tasks.enqueue('work', null, { id: 'task' });
  const task = await leasehold.tasks.get('task');
  if (task?.state !== 'ready') throw new Error('it is not ready');
  await ports.tasks.claim(task, session.id, stampOf(runtime));
  there.driver.isDown = true;
  world.clock.step(TTL_MS + ageMs);
  return { world, here: world.start({ maxClockSkew: BOUND_MS }).leasehold, sequencer: acquired.lock.sequencer };
}

test.each(Object.entries(JUDGES))('%s', async (_, [judge, alive, over]) => {
  const answers = [];
  for (const ageMs of [BOUND_MS - 1, BOUND_MS]) {
    const { world, here, sequencer } = await afterDeath(ageMs);
    answers.push(await passTime(world, judge(here, sequencer)));
  }

  expect(answers).toEqual([alive, over]);
});
