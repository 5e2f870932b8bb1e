/** Slots and permits that are given back late, twice, or elsewhere. */
import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { PermitBook } from '../../../../shared/coordination/semaphore/permit-book.ts';
import type { PermitRecord } from '../../../../shared/coordination/semaphore/semaphore.ts';
import { parsePermit } from '../../../../shared/coordination/semaphore/semaphore.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

test('leaves nothing behind in a process whose slot another process releases', async () => {
  const world = simulatedWorld();
  const producer = await world.start().leasehold.session();
  const worker = await world.start().leasehold.session();
  const [here, there] = [producer.limiter('l', { limit: 1 }), worker.limiter('l', { limit: 1 })];

  for (let slot = 0; slot < 20; slot++) expect(await there.done((await here.add({ wait: 0 }))!)).toBe(true);

  expect(getEventListeners(producer.signal, 'abort')).toHaveLength(0);
});

test('forgets slots that another process releases, even while their session lives', async () => {
  const world = simulatedWorld();
  const producer = await world.start().leasehold.session();
  const worker = await world.start().leasehold.session();
  const [here, there] = [producer.limiter('l', { limit: 2 }), worker.limiter('l', { limit: 2 })];
  const kept = (await here.add())!;
  const given: PermitRecord[] = [];

  for (let slot = 0; slot < 500; slot++) {
    const id = (await here.add({ wait: 0 }))!;
    given.push(parsePermit(id)!);
    await there.done(id);
  }

  const book = PermitBook.of(producer.holder);
  expect(given.filter((permit) => book.knows(permit)).length).toBeLessThanOrEqual(100);
  expect(book.knows(parsePermit(kept)!)).toBe(true);
});

test('frees a slot immediately for waiters in the same process', async () => {
  const world = simulatedWorld();
  const session = await world.start().leasehold.session();
  const limiter = session.limiter('l', { limit: 1, pause: '1h' });
  const id = await limiter.add();
  const next = limiter.add();
  await world.clock.advance(1_000);
  const before = world.clock.now();

  await limiter.done(id!);

  expect(await passTime(world, next, 10)).toBeDefined();
  expect(world.clock.now() - before).toBeLessThan(1_000);
});

test('releases no slot when done names a slot of another limiter', async () => {
  const session = await simulatedWorld().start().leasehold.session();
  const [one, other] = [session.limiter('one', { limit: 1 }), session.limiter('other', { limit: 1 })];
  const id = await one.add();

  expect(await other.done(id!)).toBe(false);

  expect(await one.add({ wait: 0 })).toBeUndefined();
  expect(await one.done(id!)).toBe(true);
});

test.each(['throttle', 'dropResponse'] as const)(
  'reports what it released if a failed release (%s) is repeated',
  async (accident) => {
    const world = simulatedWorld();
    const { leasehold, driver } = world.start();
    const session = await leasehold.session({ ttl: '5m' });
    const permit = await session.permit('s', { limit: 1 });
    const limiter = session.limiter('l', { limit: 1 });
    const id = (await limiter.add())!;

    for (const release of [() => permit.release(), () => limiter.done(id)]) {
      driver.accidents.push(accident);
      driver.isDown = true;
      await expect(passTime(world, release())).rejects.toMatchObject({ name: 'StoreUnavailableError' });
      driver.isDown = false;

      expect(await release()).toBe(true);
    }
    expect([await permit.release(), await limiter.done(id)]).toEqual([true, false]);
    expect((await leasehold.semaphores.get('s'))?.holders).toEqual([]);
    await session.end();
  },
);
