/** Live workers of a queue, by their sessions. */
import { expect, test } from 'vitest';
import { liveWorkers, workerName } from '../../../../shared/tasks/dispatch/live-workers.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

const QUEUE = 'media';
const ttl = 3_000;

test.each([
  ['the queue', workerName(QUEUE), true],
  ['a queue whose name begins alike', workerName(`${QUEUE}-2`), false],
  ['a queue whose name goes on as the key of a session does', workerName(`${QUEUE}#2`), false],
  ['a queue whose name ends alike', workerName(`my-${QUEUE}`), false],
  ['no queue', QUEUE, false],
])('a session of a worker of %s', async (_of, name, isLive) => {
  const world = simulatedWorld();
  const { leasehold, ports, maxClockSkewMs } = world.start();
  const session = await leasehold.session({ name, ttl });
  const live = () => liveWorkers(ports.sessions, QUEUE, [], { now: world.clock.now(), maxClockSkewMs });

  expect([...(await live())]).toEqual(isLive ? [session.id] : []);
  await passTime(world, session.end());
  expect([...(await live())]).toEqual([]);
});

test('an expired session is not a live worker, and a known holder is live without a read', async () => {
  const world = simulatedWorld();
  const { leasehold, ports, driver, maxClockSkewMs } = world.start();
  await leasehold.session({ name: workerName(QUEUE), ttl });
  driver.isDown = true;
  await passTime(world, world.clock.sleep(ttl + maxClockSkewMs + 1));
  driver.isDown = false;

  const live = await liveWorkers(ports.sessions, QUEUE, ['holder'], { now: world.clock.now(), maxClockSkewMs });

  expect([...live]).toEqual(['holder']);
});

test('a session that cannot be read may be live, and counts', async () => {
  const world = simulatedWorld();
  const { leasehold, ports, maxClockSkewMs } = world.start();
  const session = await leasehold.session({ name: workerName(QUEUE), ttl });
  const Item = { ...world.rows().find(({ sk }) => sk === 'session'), expiresAt: 'soon' } as never;
  await world.driver.attempt('put', { TableName: world.table, Item }, new AbortController().signal);

  const live = await liveWorkers(ports.sessions, QUEUE, [], { now: world.clock.now(), maxClockSkewMs });

  expect([...live]).toEqual([session.id]);
});
