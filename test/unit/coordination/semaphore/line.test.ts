import { setImmediate as drained } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { MismatchError } from '../../../../shared/core/errors.ts';
import { SemaphoreFullError } from '../../../../shared/coordination/semaphore/semaphore-contender.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

describe('contenders of one process', () => {
  test('wait in line, so that a crowd costs as much as one', async () => {
    const world = simulatedWorld();
    const { clock } = world;
    const process = world.start();
    const session = await process.leasehold.session({ ttl: '1m' });
    const limiter = session.limiter('vendor', { limit: 1, pause: '1s' });
    const id = await limiter.add();
    await drained();

    const crowd = Array.from({ length: 40 }, () => limiter.add());
    const { requests } = await process.cost(() => clock.advance(10_000));

    // Half a second between two looks, on average, and a heartbeat; not forty times as many.
    expect(requests).toBeLessThan(60);
    for (let first: string | undefined = id, served = 0; served < 40; served++) {
      await limiter.done(first!);
      await clock.advance(50);
      first = await crowd[served];
    }
  });

  test('are woken by a release in their own process, without waiting for the next poll', async () => {
    const world = simulatedWorld();
    const { clock } = world;
    const session = await world.start().leasehold.session({ ttl: '1m' });
    const held = await session.permit('vendor', { limit: 1 });
    const waiting = session.permit('vendor', { limit: 1, pause: '1h' });
    await clock.advance(100);

    await held.release();

    expect((await waiting).fencingToken).toBe(held.fencingToken + 1);
  });

  test('have a separate line for each request size, so that a large request does not delay a small one that fits', async () => {
    const world = simulatedWorld();
    const { clock } = world;
    const process = world.start();
    const session = await process.leasehold.session({ ttl: '10m' });
    const held = await session.permit('vendor', { limit: 10 });
    const large = session.permit('vendor', { limit: 10, permits: 10 });
    await clock.advance(1_000);

    const small = session.permit('vendor', { limit: 10 });
    await drained();

    expect((await small).fencingToken).toBe(held.fencingToken + 1);
    await held.release();
    await (await small).release();
    expect((await passTime(world, large)).permits).toBe(10);
  });

  test('poll at their own intervals', async () => {
    const world = simulatedWorld();
    const { clock } = world;
    const elsewhere = await world.start().leasehold.session({ ttl: '10m' });
    const session = await world.start().leasehold.session({ ttl: '10m' });
    const held = await elsewhere.permit('vendor', { limit: 1 });
    const stop = new AbortController();
    const { signal } = stop;
    const patient = session.permit('vendor', { limit: 1, pause: '1h', signal }).catch((error: unknown) => error);
    await clock.advance(20_000);
    const waiting = session.permit('vendor', { limit: 1, wait: '1m' });
    await clock.advance(1_000);
    await held.release();

    expect((await passTime(world, waiting)).fencingToken).toBe(held.fencingToken + 1);
    stop.abort();
    await patient;
  });

  test('learn at once that others declare another limit, also behind others in the queue', async () => {
    const session = await simulatedWorld().start().leasehold.session({ ttl: '10m' });
    await session.permit('vendor', { limit: 1 });
    const stop = new AbortController();
    const waiting = session.permit('vendor', { limit: 1, signal: stop.signal }).catch(() => undefined);

    await expect(session.permit('vendor', { limit: 2 })).rejects.toThrow(MismatchError);

    stop.abort();
    await waiting;
  });

  test('leave the line when their time is over', async () => {
    const world = simulatedWorld();
    const { clock } = world;
    const session = await world.start().leasehold.session({ ttl: '1m' });
    const held = await session.permit('vendor', { limit: 1 });
    const patient = session.permit('vendor', { limit: 1, pause: '1h' });
    const hasty = session.permit('vendor', { limit: 1, wait: '2s' }).catch((error: unknown) => error);
    await clock.advance(2_500);

    expect(await hasty).toBeInstanceOf(SemaphoreFullError);
    expect(String(await hasty)).toMatch(/semaphore vendor is full: 1 of 1 permits in use/);
    await held.release();
    expect((await patient).remainingTrustMs()).toBeGreaterThan(0);
  });
});
