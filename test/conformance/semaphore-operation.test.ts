import { beforeEach, describe, expect, test } from 'vitest';
import { LeaseLostError, MismatchError } from '../../shared/core/errors.ts';
import type { Member } from '../support/crowd.ts';
import { SKEW_MS, acquired, describeCrowd } from '../support/crowd.ts';
import { loseNextAnswer } from '../support/lost-answer.ts';

describeCrowd('operating a semaphore', (start) => {
  let here: Member;
  let there: Member;
  let name: string;

  beforeEach(() => {
    here = start();
    there = start();
    name = `semaphore-${here.ports.runtime.ids.unique()}`;
  });

  describe('a change of the limit', () => {
    test('admits more holders at once after an operator raises the limit', async () => {
      const session = await here.session();
      await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));

      expect(await here.semaphores.setLimit(name, 2)).toBe(true);

      await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));
      expect((await here.semaphores.tryAcquire(session, name, { limit: 1 })).kind).toBe('full');
    });

    test('downwards revokes nothing, and admits no contender until enough permits have come back', async () => {
      const session = await here.session();
      const take = () => here.semaphores.tryAcquire(session, name, { limit: 3 });
      const permits = [await acquired(take()), await acquired(take()), await acquired(take())];
      await here.semaphores.setLimit(name, 1);

      expect(await here.semaphores.get(name)).toMatchObject({ limit: 1, declared: 3, inUse: 3 });
      for (const permit of permits) {
        expect((await take()).kind).toBe('full');
        expect(await permit.release()).toBe(true);
      }

      await acquired(take());
      expect((await take()).kind).toBe('full');
    });

    test('returns to the declared limit', async () => {
      const session = await here.session();
      await acquired(here.semaphores.tryAcquire(session, name, { limit: 2 }));
      await here.semaphores.setLimit(name, 1);

      await here.semaphores.setLimit(name, 'declared');

      expect((await here.semaphores.tryAcquire(session, name, { limit: 2 })).kind).toBe('acquired');
    });

    test('is not for contenders: another limit is refused, naming both', async () => {
      const session = await here.session();
      await acquired(here.semaphores.tryAcquire(session, name, { limit: 15 }));

      const refused = here.semaphores.tryAcquire(session, name, { limit: 20 });

      await expect(refused).rejects.toThrow(MismatchError);
      await expect(refused).rejects.toThrow(/limit of 15.*declares 20/);
    });

    test('refuses contenders that still declare the old limit after a deployment', async () => {
      const session = await here.session();
      const old = await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));

      await here.semaphores.declareLimit(name, 2);

      expect(old.remainingTrustMs()).toBeGreaterThan(0);
      await acquired(here.semaphores.tryAcquire(session, name, { limit: 2 }));
      await expect(here.semaphores.tryAcquire(session, name, { limit: 1 })).rejects.toThrow(MismatchError);
    });

    test("keeps an operator's limit in effect after a deployment", async () => {
      await here.semaphores.declareLimit(name, 10);
      await here.semaphores.setLimit(name, 3);

      await here.semaphores.declareLimit(name, 20);

      expect(await here.semaphores.get(name)).toMatchObject({ limit: 3, declared: 20 });
      expect(await here.semaphores.setLimit('unheard of', 3)).toBe(false);
    });
  });

  describe('an eviction', () => {
    test('reaches the holder at its next heartbeat, and is recorded', async () => {
      const session = await here.session();
      const permit = await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));
      const evicted = { token: permit.fencingToken, by: 'ann', reason: 'hangs' };

      expect(await there.semaphores.evict(name, evicted)).toMatchObject({ session: session.id });
      expect(permit.signal.aborted).toBe(false);
      await here.live(here.clock.sleep(session.timing.heartbeatMs));

      expect(permit.signal.aborted).toBe(true);
      expect(permit.signal.reason).toBeInstanceOf(LeaseLostError);
      expect(session.signal.aborted).toBe(false);
      expect(await here.semaphores.get(name)).toMatchObject({
        lastEviction: { by: 'ann', reason: 'hangs', session: session.id, token: permit.fencingToken },
      });
    });

    test('ends a holder that has not yet learned of its admission', async () => {
      const session = await here.session();
      await here.semaphores.tryAcquire(session, name, { limit: 2 });
      loseNextAnswer(here.driver, async () => {
        const token = (await there.semaphores.get(name))?.holders.at(-1)?.token ?? 0;
        await there.semaphores.evict(name, { token, by: 'ann', reason: 'hangs' });
      });

      const refused = here.live(here.semaphores.tryAcquire(session, name, { limit: 2 }), 5);

      await expect(refused).rejects.toMatchObject({ name: 'LeaseLostError', reason: 'invalidated' });
    });

    test('keeps the room closed for the lock-delay', async () => {
      const crashed = await there.session({ lockDelayMs: 4_000, ttlMs: null });
      const permit = await acquired(there.semaphores.tryAcquire(crashed, name, { limit: 1 }));
      await here.semaphores.evict(name, { token: permit.fencingToken, by: 'ann', reason: 'hangs' });
      const session = await here.session();

      const early = await here.semaphores.tryAcquire(session, name, { limit: 1 });

      expect(early).toMatchObject({ kind: 'full', until: here.clock.now() + 4_000 + SKEW_MS });
      // The process that wrote that time may have a clock that is behind by the whole bound.
      await here.live(here.clock.sleep(4_000 + SKEW_MS / 2));
      expect((await here.semaphores.tryAcquire(session, name, { limit: 1 })).kind).toBe('full');
      await here.live(here.clock.sleep(SKEW_MS / 2));
      await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));
      expect(await permit.release()).toBe(false);
      expect(await here.semaphores.get(name)).toMatchObject({ inUse: 1 });
    });

    test('frees the capacity at once when the evicted holder releases', async () => {
      const session = await here.session({ lockDelayMs: 60_000 });
      const permit = await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));
      await there.semaphores.evict(name, { token: permit.fencingToken, by: 'ann', reason: 'hangs' });

      expect(await permit.check()).toBe(false);
      expect(await permit.release()).toBe(false);

      expect((await here.semaphores.tryAcquire(session, name, { limit: 1 })).kind).toBe('acquired');
    });

    test('changes nothing for a permit that is not held', async () => {
      const session = await here.session();
      const permit = await acquired(here.semaphores.tryAcquire(session, name, { limit: 1 }));
      const other = { token: permit.fencingToken + 1, by: 'ann', reason: 'hangs' };

      expect(await here.semaphores.evict(name, other)).toBeUndefined();
      expect(await permit.check()).toBe(true);
    });
  });

  test('lists names by prefix', async () => {
    for (const suffix of ['a', 'b']) await here.semaphores.declareLimit(`${name}/${suffix}`, 1);

    expect(await namesOf(here.semaphores.list(`${name}/`))).toEqual([`${name}/a`, `${name}/b`]);
  });
});

async function namesOf(listing: AsyncIterable<string>): Promise<string[]> {
  const names: string[] = [];
  for await (const found of listing) names.push(found);
  return names;
}
