import { beforeEach, describe, expect, test } from 'vitest';
import { ConfigurationError, LeaseLostError } from '../../shared/core/errors.ts';
import type { PermitAcquisition } from '../../shared/coordination/semaphore/acquire.ts';
import type { Permit } from '../../shared/coordination/semaphore/permit.ts';
import type { Member } from '../support/crowd.ts';
import { DEAD_AFTER_MS, SKEW_MS, TTL_MS, acquired, describeCrowd, fillWithCrashed } from '../support/crowd.ts';

describeCrowd('the semaphore', (start) => {
  let here: Member;
  let there: Member;
  let name: string;

  beforeEach(() => {
    here = start();
    there = start();
    name = `semaphore-${here.ports.runtime.ids.unique()}`;
  });

  describe('with free capacity', () => {
    test('admits up to the limit, with tokens that only grow', async () => {
      const session = await here.session();

      const permits = [
        await acquired(here.semaphores.tryAcquire(session, name, { limit: 2 })),
        await acquired(here.semaphores.tryAcquire(session, name, { limit: 2 })),
      ];
      const third = await here.semaphores.tryAcquire(session, name, { limit: 2 });

      expect(permits[1]!.fencingToken).toBe(permits[0]!.fencingToken + 1);
      expect(third).toMatchObject({ kind: 'full', limit: 2, inUse: 2, waiting: 0 });
    });

    test('acquires and releases in one request and one write unit each, up to fifteen holders', async () => {
      const session = await here.session();
      const permits: Permit[] = [];
      const take = async () =>
        permits.push(await acquired(here.semaphores.tryAcquire(session, 'workers', { limit: 15 })));
      const creation = await here.costOf(take);

      for (let n = 2; n <= 15; n++)
        expect(await here.costOf(take)).toEqual({ requests: 1, writeUnits: 1, readUnits: 0 });
      for (const permit of permits)
        expect(await here.costOf(() => permit.release())).toEqual({ requests: 1, writeUnits: 1, readUnits: 0 });

      // Refused because there is no row; then the row, and its entry in the directory.
      expect(creation).toEqual({ requests: 2, writeUnits: 3, readUnits: 0 });
    });

    test('counts a permit by its weight', async () => {
      const session = await here.session();
      await acquired(here.semaphores.tryAcquire(session, name, { limit: 5, permits: 3 }));

      const tooMuch = await here.semaphores.tryAcquire(session, name, { limit: 5, permits: 3 });
      const enough = await here.semaphores.tryAcquire(session, name, { limit: 5, permits: 2 });

      expect([tooMuch.kind, enough.kind]).toEqual(['full', 'acquired']);
    });
  });

  describe('when it is full of live holders', () => {
    test('names the holders and the next expiry, with three requests', async () => {
      const holder = await there.session();
      const held = await acquired(there.semaphores.tryAcquire(holder, name, { limit: 1 }));
      const session = await here.session();
      let found: PermitAcquisition | undefined;

      const cost = await here.costOf(async () => {
        found = await here.semaphores.tryAcquire(session, name, { limit: 1 });
      });

      expect(found).toMatchObject({
        kind: 'full',
        holders: [{ session: holder.id, token: held.fencingToken, permits: 1 }],
        until: there.clock.now() + DEAD_AFTER_MS,
      });
      // Refused, the holder's session, and the write that no copy of the refused request passes.
      expect(cost).toEqual({ requests: 3, writeUnits: 2, readUnits: 1 });
    });

    test('leaves a slow holder alone for as long as its session is renewed', async () => {
      const slow = await here.session();
      await acquired(here.semaphores.tryAcquire(slow, name, { limit: 1 }));
      await here.live(here.clock.sleep(3 * TTL_MS));
      const other = await here.session();

      expect((await here.semaphores.tryAcquire(other, name, { limit: 1 })).kind).toBe('full');
    });
  });

  describe('with expired holders', () => {
    test('removes expired holders in the write that admits the next, with at most four requests', async () => {
      await fillWithCrashed(start, name, 1);
      await here.clock.advance(DEAD_AFTER_MS);
      const session = await here.session();

      const cost = await here.costOf(() => acquired(here.semaphores.tryAcquire(session, name, { limit: 1 })));

      // Refused with the row, the sessions, one session ended, one write that prunes and admits.
      expect(cost).toEqual({ requests: 4, writeUnits: 3, readUnits: 1 });
      expect((await here.semaphores.get(name))?.holders).toMatchObject([{ session: session.id }]);
    });

    test('is not blocked by a set that is full of them', async () => {
      await fillWithCrashed(start, name, 4);
      await here.clock.advance(DEAD_AFTER_MS);
      const session = await here.session();

      await acquired(here.semaphores.tryAcquire(session, name, { limit: 4 }));

      expect((await here.semaphores.get(name))?.holders).toHaveLength(1);
    });

    test('never expires a holder before its TTL and the clock bound are over', async () => {
      await fillWithCrashed(start, name, 1);
      await here.clock.advance(DEAD_AFTER_MS - 1);
      const session = await here.session();

      expect((await here.semaphores.tryAcquire(session, name, { limit: 1 })).kind).toBe('full');
    });

    test('keeps the capacity of expired holders closed until their lock-delay is over', async () => {
      await fillWithCrashed(start, name, 1, { lockDelayMs: 5_000 });
      await here.clock.advance(DEAD_AFTER_MS);
      const session = await here.session();

      const early = await here.semaphores.tryAcquire(session, name, { limit: 1 });

      expect(early).toMatchObject({ kind: 'full', until: here.clock.now() + 5_000 + SKEW_MS });
      await here.live(here.clock.sleep(5_000 + SKEW_MS));
      expect((await here.semaphores.tryAcquire(session, name, { limit: 1 })).kind).toBe('acquired');
    });

    test('takes the permits of a session that was ended at once', async () => {
      const ended = await there.session({ lockDelayMs: 5_000 });
      await acquired(there.semaphores.tryAcquire(ended, name, { limit: 1 }));
      await ended.end();
      const session = await here.session();

      expect((await here.semaphores.tryAcquire(session, name, { limit: 1 })).kind).toBe('acquired');
    });

    test('verifies a token for as long as its session lives', async () => {
      const holder = await there.session();
      const { fencingToken } = await acquired(there.semaphores.tryAcquire(holder, name, { limit: 2 }));
      const verify = (token: number) => here.semaphores.verify(name, token);
      expect([await verify(fencingToken), await verify(fencingToken + 1)]).toEqual([true, false]);

      await holder.end();

      expect(await verify(fencingToken)).toBe(false);
    });

    test('refuses a late release of a pruned holder, and frees nothing', async () => {
      const [late] = await fillWithCrashed(start, name, 1);
      await here.clock.advance(DEAD_AFTER_MS);
      const session = await here.session();
      await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));

      expect(await late!.release()).toBe(false);
      expect(await here.semaphores.get(name)).toMatchObject({ inUse: 1 });
    });

    test('hides expired holders from readers, without a write', async () => {
      await fillWithCrashed(start, name, 2);
      await here.clock.advance(DEAD_AFTER_MS);

      const cost = await here.costOf(async () => {
        expect(await here.semaphores.get(name)).toMatchObject({
          inUse: 0,
          live: 0,
          holders: [
            { standing: 'expired', sessionName: 'test' },
            { standing: 'expired', node: 'here' },
          ],
        });
      });

      expect(cost).toEqual({ requests: 2, writeUnits: 0, readUnits: 3 });
    });
  });

  describe('release', () => {
    test('frees capacity once when called repeatedly', async () => {
      const session = await here.session();
      const permit = await acquired(here.semaphores.tryAcquire(session, name, { limit: 2 }));
      await acquired(here.semaphores.tryAcquire(session, name, { limit: 2 }));

      expect(await permit.release()).toBe(true);
      await permit.release();

      expect(await here.semaphores.get(name)).toMatchObject({ inUse: 1 });
      expect(permit.remainingTrustMs()).toBe(0);
      expect(() => permit.ensureTrusted()).toThrow(LeaseLostError);
    });

    test('happens at the end of the scope', async () => {
      const session = await here.session();
      {
        await using permit = await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));
        expect(permit.remainingTrustMs()).toBeGreaterThan(0);
      }

      expect(await here.semaphores.get(name)).toMatchObject({ inUse: 0 });
    });
  });

  describe('a lost response', () => {
    test('lets the same session prune an unresolved permit when it needs the capacity', async () => {
      const session = await here.session({ ttlMs: 60_000 });
      const other = await there.session();
      await (await acquired(there.semaphores.tryAcquire(other, name, { limit: 1 }))).release();
      here.driver.accidents.push('dropResponse', ...Array.from({ length: 40 }, () => 'dropRequest' as const));

      const asking = here.semaphores.tryAcquire(session, name, { limit: 1 });
      await expect(here.live(asking, 500)).rejects.toMatchObject({ name: 'StoreUnavailableError', applied: 'unknown' });
      here.driver.accidents.length = 0;

      expect(await here.semaphores.get(name)).toMatchObject({ inUse: 1 });
      const permit = await here.live(acquired(here.semaphores.tryAcquire(session, name, { limit: 1 })));
      expect((await here.semaphores.get(name))?.holders).toMatchObject([{ token: permit.fencingToken }]);
    });
  });

  test('aborts the permit with its session', async () => {
    const session = await here.session();
    const permit = await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));

    // No time has run for the process, and no timer of it: it was frozen, and finds itself expired when it is asked.
    here.clock.step(TTL_MS);

    expect(permit.signal.aborted).toBe(true);
    expect(permit.signal.reason).toMatchObject({ reason: 'expired' });
  });

  test.each([
    ['a limit of zero', { limit: 0 }, /limit = 0/],
    ['a negative limit', { limit: -1 }, /limit = -1/],
    ['a fraction', { limit: 1.5 }, /limit = 1.5/],
    ['no number', { limit: Number.NaN }, /limit = NaN/],
    ['no permits', { limit: 1, permits: 0 }, /permits = 0/],
    ['negative permits', { limit: 1, permits: -1 }, /permits = -1/],
    ['more permits than the limit', { limit: 2, permits: 3 }, /permits = 3 is more than limit = 2/],
  ])('refuses %s', async (_, options, message) => {
    const session = await here.session();

    await expect(here.semaphores.tryAcquire(session, name, options)).rejects.toThrow(ConfigurationError);
    await expect(here.semaphores.tryAcquire(session, name, options)).rejects.toThrow(message);
  });

  test.each(['', '\ud800', 'x'.repeat(3_000)])('refuses a name that is none', async (bad) => {
    const session = await here.session();

    await expect(here.semaphores.tryAcquire(session, bad, { limit: 1 })).rejects.toThrow(ConfigurationError);
  });
});
