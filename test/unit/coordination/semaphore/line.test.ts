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

  test('have a separate line for each request size: a large request does not delay a small request that fits', async () => {
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

describe('two contenders of one process, behind a holder elsewhere', () => {
  const LIMIT = { limit: 2 } as const;
  const fair = { ...LIMIT, fair: true, wait: '1h' } as const;
  const KINDS = {
    'unfair for one': { ...LIMIT, permits: 1, wait: '1h' },
    'unfair for two': { ...LIMIT, permits: 2, wait: '1h' },
    'fair for one': { ...fair, permits: 1 },
    'fair for two': { ...fair, permits: 2 },
    'fair for one, with longer pauses': { ...fair, permits: 1, pause: '5s' },
  } as const;
  type Kind = keyof typeof KINDS;

  const names = Object.keys(KINDS) as Kind[];
  const isFair = (kind: Kind): boolean => kind.startsWith('fair');
  const permitsOf = (kind: Kind): number => KINDS[kind].permits;

  test.each(names.flatMap((first) => names.map((second) => ({ first, second }))))(
    'have the places in the queue that they asked for: $first, then $second',
    async ({ first, second }) => {
      const world = simulatedWorld();
      const [here, there] = [world.start(), world.start()];
      const elsewhere = await there.leasehold.session({ ttl: '1h' });
      const session = await here.leasehold.session({ ttl: '1h' });
      const held = await elsewhere.permit('vendor', { limit: 2, permits: 2 });
      const stop = new AbortController();
      const waits = [first, second].map((kind) =>
        session.permit('vendor', { ...KINDS[kind], signal: stop.signal }).catch((error: unknown) => error),
      );
      await world.clock.advance(3_000);

      // A second contender of the same kind waits in this process; the first one has the place in the queue.
      const asked = first === second ? [first] : [first, second];
      const tickets = asked.filter(isFair).map(permitsOf);
      const state = await there.leasehold.semaphores.get('vendor');
      expect(state?.waiting.map(({ permits }) => permits)).toEqual(tickets);

      // A contender with a place in the queue is not overtaken.
      await held.release();
      const overtaking = await elsewhere.tryPermit('vendor', LIMIT);
      expect(overtaking.kind).toBe(tickets.length > 0 ? 'full' : 'acquired');
      stop.abort(new Error('over'));
      await Promise.all(waits);
    },
  );
});
