/**
 * Sends the verbs of coordination that locks and semaphores alone do not:
 * groups, limits, fairness, health, schedules, and holders elsewhere.
 */
import { enqueueDueSlots } from '../shared/tasks/dispatch/recur.ts';
import { assert } from '../shared/core/errors.ts';
import { stampOf } from '../shared/core/lease/stamp.ts';
import { DEFAULT_MAX_CLOCK_SKEW_MS } from '../shared/core/lease/timing.ts';
import type { Stores } from '../shared/client/stores.ts';
import type { Leasehold } from '../shared/client/leasehold.ts';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import type { Session } from '../shared/client/session.ts';

export async function exerciseCoordination(leasehold: Leasehold, session: Session, stores: Stores): Promise<void> {
  await exerciseElections(leasehold, session);
  await exerciseGroups(leasehold, session);
  await exerciseLimits(leasehold, session);
  await exerciseHealth(leasehold);
  await exerciseRemoteHolder(leasehold, stores);
  await exerciseSchedules(leasehold, stores);
  for await (const _ of leasehold.sessions.list()) continue;
  for await (const _ of leasehold.semaphores.list()) continue;
}

async function exerciseElections(leasehold: Leasehold, session: Session): Promise<void> {
  const leadership = await session.campaign('reports', { value: 'host-1' });
  await leasehold.elections.get('reports');
  await leadership.proclaim('host-1, port 80');
  await leadership.resign();
}

async function exerciseGroups(leasehold: Leasehold, session: Session): Promise<void> {
  const group = await leasehold.waitGroup('nightly');
  const members = await group.add(3, { session: session.holder });
  const [first, second, third] = members;
  assert(first !== undefined && second !== undefined && third !== undefined, 'three members were added');
  await using helper = await leasehold.session({ name: 'helper' });
  await group.lease(first, helper.holder);
  for (const member of members) await group.done(member);
  await group.seal();
  await group.wait({ wait: '1s' });
  for await (const _ of group.members()) continue;

  const next = await group.next();
  const doomed = await leasehold.session({ name: 'doomed member' });
  await next.add(['abandoned'], { session: doomed.holder, seal: true });
  await doomed.end();
  await next.wait({ wait: '1s' });
}

async function exerciseLimits(leasehold: Leasehold, session: Session): Promise<void> {
  const limiter = leasehold.rateLimiter('api', { rate: 2, per: '1h' });
  await limiter.tryTake('customer-7');
  await limiter.tryTake('customer-7');
  await limiter.tryTake('customer-7');
  await limiter.get('customer-7');

  const slots = session.limiter('uploads', { limit: 1 });
  const slot = await slots.add();
  assert(slot !== undefined, 'there is a slot');
  await slots.done(slot);

  const first = await session.permit('fair', { limit: 1, wait: '1s', fair: true });
  await using rival = await leasehold.session({ name: 'rival for a permit' });
  const waiting = rival.permit('fair', { limit: 1, wait: '5m', fair: true });
  // Long enough for the rival to stand in the queue.
  await systemRuntime.clock.sleep(100);
  await first.release();
  const second = await waiting;
  await second.release();
}

async function exerciseHealth(leasehold: Leasehold): Promise<void> {
  await leasehold.health.registerNode('host-1');
  const check = await leasehold.health.register('host-1', 'disk', { ttl: '30s' });
  const bound = await leasehold.session({ name: 'bound', node: 'host-1', checks: ['disk'] });
  await check.pass('free: 40 %');
  await leasehold.health.check('host-1', 'disk');
  await check.fail('full');
  await bound.end();
  await leasehold.health.deregisterNode('host-1');
}

/** One that knows a session by its id alone, as a gateway's callers do. */
async function exerciseRemoteHolder({ sessions, locks }: Leasehold, stores: Stores): Promise<void> {
  const id = systemRuntime.ids.unique();
  const settings = { name: 'remote', node: 'host-2', ttlMs: 15_000, lockDelayMs: 0, behaviour: 'release' as const };
  await stores.sessions.create({ ...settings, id, checks: [], remote: true, ...stampOf(systemRuntime) });
  const renewal = stampOf(systemRuntime);
  await stores.sessions.renewRemote({ id, expiredBefore: renewal.now - DEFAULT_MAX_CLOCK_SKEW_MS, ...renewal });
  const content = { value: 'host-2', encoding: 'text', flags: 0 } as const;
  const openBefore = systemRuntime.clock.now() - DEFAULT_MAX_CLOCK_SKEW_MS;
  const request = { key: 'service/leader', session: id, content, isListed: true, openBefore };
  const taken = await stores.locks.acquire(request, stampOf(systemRuntime));
  assert(taken.kind === 'applied', 'the key was free');
  const write = { kind: 'put', key: 'service/config', observed: undefined, content } as const;
  const conditions = { unchanged: [taken.row], absent: [], live: [] };
  await stores.locks.commit([write], conditions, new Map(), stampOf(systemRuntime));
  await stores.locks.release(taken.row, { content, sweepable: false }, stampOf(systemRuntime));
  await sessions.destroy(id);
  await locks.delete('service/leader');
}

async function exerciseSchedules({ schedules }: Leasehold, stores: Stores): Promise<void> {
  const ports = { ...stores, runtime: systemRuntime };
  await schedules.define('every second', 'thumbnail', {}, { cron: '* * * * * *' });
  await systemRuntime.clock.sleep(1_000);
  const made = await enqueueDueSlots('default', ports, (error) => {
    throw error;
  });
  assert(made > 0, 'a slot was due');
  await schedules.define('by hand', 'thumbnail', {}, { cron: '0 0 1 1 *', overlap: 'replace', jitter: '1m' });
  for (let nth = 0; nth < 2; nth++) {
    await schedules.run('by hand');
    // Two runs of one millisecond are one task.
    await systemRuntime.clock.sleep(2);
  }
  await schedules.pause('by hand');
  await schedules.resume('by hand');
  await schedules.define('never twice', 'thumbnail', {}, { cron: '* * * * * *', overlap: 'skip', missed: 'all' });
  await schedules.run('never twice');
  await systemRuntime.clock.sleep(1_000);
  await enqueueDueSlots('default', ports, (error) => {
    throw error;
  });
  for (const name of ['by hand', 'never twice']) await schedules.remove(name);
  for await (const _ of schedules.list()) continue;
  await schedules.remove('every second');
}
