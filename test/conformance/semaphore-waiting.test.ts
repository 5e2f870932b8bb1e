import { beforeEach, describe, expect, test } from 'vitest';
import { ConfigurationError, LeaseLostError } from '../../shared/core/errors.ts';
import type { Permit } from '../../shared/coordination/semaphore/permit.ts';
import type { Member } from '../support/crowd.ts';
import { DEAD_AFTER_MS, TTL_MS, acquired, describeCrowd, fillWithCrashed } from '../support/crowd.ts';

describeCrowd('waiting for a semaphore', (start) => {
  let here: Member;
  let there: Member;
  let name: string;

  beforeEach(() => {
    here = start();
    there = start();
    name = `semaphore-${here.ports.runtime.ids.unique()}`;
  });

  describe('waiting', () => {
    test('ends when a permit comes back', async () => {
      const session = await here.session();
      const held = await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));

      const waiting = acquired(here.semaphores.acquire(session, name, { limit: 1, pause: 200 }));
      await here.live(here.clock.sleep(1_000));
      await held.release();

      expect((await here.live(waiting)).fencingToken).toBe(held.fencingToken + 1);
    });

    test('ends as soon as a crashed holder can have expired, even with rare polls', async () => {
      await fillWithCrashed(start, name, 1);
      const session = await here.session();
      const startedAt = here.clock.now();

      await here.live(acquired(here.semaphores.acquire(session, name, { limit: 1, pause: '10m' })));

      expect(here.clock.now() - startedAt).toBeLessThan(DEAD_AFTER_MS + 400);
    });

    test('polls without a write while there is no free capacity', async () => {
      const holder = await there.session({ ttlMs: 60_000 });
      await acquired(there.semaphores.tryAcquire(holder, name, { limit: 1 }));
      const session = await here.session({ ttlMs: 600_000 });

      const cost = await here.costOf(() =>
        here.live(here.semaphores.acquire(session, name, { limit: 1, wait: '20s', pause: '1s' })),
      );

      // The first ask was refused; after it, a poll costs one read, and one more each two seconds for the holder's session;
      // the last write gives the claim up.
      expect(cost.writeUnits).toBe(2);
      expect(cost.readUnits).toBeLessThanOrEqual(20 * 4 + 10);
    });

    test('ends when its session is lost', async () => {
      const holder = await there.session({ ttlMs: null });
      await acquired(there.semaphores.tryAcquire(holder, name, { limit: 1 }));
      const session = await here.session();

      const waiting = here.semaphores.acquire(session, name, { limit: 1 });
      await here.ports.sessions.invalidate({ id: session.id, reason: 'destroyed', now: here.clock.now(), nonce: 'op' });

      await expect(here.live(waiting)).rejects.toThrow(LeaseLostError);
    });
  });

  describe('fair waiting', () => {
    test('serves in the order of the queue, and lets no contender pass it', async () => {
      const session = await here.session({ ttlMs: 600_000 });
      const first = await acquired(here.semaphores.tryAcquire(session, name, { limit: 2 }));
      const second = await acquired(here.semaphores.tryAcquire(session, name, { limit: 2 }));
      const order: string[] = [];
      const queue = async (who: string, permits: number): Promise<Permit> => {
        const options = { limit: 2, permits, fair: true, wait: '5m', pause: 300 } as const;
        const permit = await acquired(here.semaphores.acquire(session, name, options));
        order.push(who);
        return permit;
      };
      const big = queue('big', 2);
      await here.live(here.clock.sleep(400));
      const small = queue('small', 1);
      await here.live(here.clock.sleep(400));

      await first.release();
      await here.live(here.clock.sleep(2_000));
      const passing = await here.semaphores.tryAcquire(session, name, { limit: 2 });

      expect(passing).toMatchObject({ kind: 'full', inUse: 1, waiting: 2 });
      expect(order).toEqual([]);
      await second.release();
      await (await here.live(big)).release();
      await here.live(small);
      expect(order).toEqual(['big', 'small']);
      expect((await here.semaphores.get(name))?.waiting).toEqual([]);
    });

    test('is not delayed by waiters that gave up or crashed', async () => {
      const session = await here.session({ ttlMs: 600_000 });
      const held = await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));
      const crashed = await there.session();
      const options = { limit: 1, fair: true, pause: 300 } as const;
      void there.semaphores.acquire(crashed, name, { ...options, wait: '1h' });
      const gaveUp = here.semaphores.acquire(session, name, { ...options, wait: '1s' });
      expect((await here.live(gaveUp)).kind).toBe('full');
      expect((await here.semaphores.get(name))?.waiting).toMatchObject([{ session: crashed.id }]);
      const last = acquired(here.semaphores.acquire(session, name, { ...options, wait: '5m' }));
      await here.live(here.clock.sleep(500));

      await held.release();

      await here.live(last);
      expect(here.clock.monotonic()).toBeGreaterThan(TTL_MS);
      expect((await here.semaphores.get(name))?.waiting).toEqual([]);
    });

    test('needs a time to wait', async () => {
      const session = await here.session();

      await expect(here.semaphores.acquire(session, name, { limit: 1, fair: true })).rejects.toThrow(
        ConfigurationError,
      );
    });
  });
});
