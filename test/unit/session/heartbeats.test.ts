/** A session by itself: how soon it retries, and that all its work stops at its end. */
import type { Session } from '../../../shared/client/session.ts';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { LeaseLostError } from '../../../shared/core/errors.ts';
import { LossyNetwork } from '../../support/lossy-network.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { sessionTiming } from '../../../shared/core/lease/timing.ts';
import { systemIds } from '../../../shared/core/runtime/ids.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';

test('survives every outage that ends a quarter of a heartbeat before its trust does', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 10, max: 60 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 0.99, noNaN: true }),
      fc.constantFrom('nothing arrives', 'no answer arrives'),
      async (ttlSeconds, startShare, drawn, outage) => {
        const world = simulatedWorld();
        const here = world.start({}, { random: { next: () => drawn }, ids: systemIds });
        const { leasehold, driver } = here;
        const network = new LossyNetwork(here, /./);
        const fail = (isOut: boolean): void => {
          if (outage === 'nothing arrives') driver.isDown = isOut;
          else network.fate = isOut ? 'loseAnswer' : 'none';
        };
        const session = await leasehold.session({ ttl: `${ttlSeconds}s` });
        const { heartbeatMs } = sessionTiming({ ttlMs: ttlSeconds * 1_000 });
        await world.clock.advance(heartbeatMs * (2 + startShare));
        fail(true);
        // A heartbeat that failed is repeated after a quarter; each attempt may take its whole budget in vain.
        await world.clock.advance(session.remainingTrustMs() - heartbeatMs / 4 - 100);
        fail(false);
        await world.clock.advance(heartbeatMs / 4 + 50);

        expect(session.signal.aborted).toBe(false);
        expect(session.remainingTrustMs()).toBeGreaterThan(heartbeatMs);
        await session.end();
      },
    ),
    { seed: 1, numRuns: 40 },
  );
});

test('trusts itself from before each request, even if its answer comes late', async () => {
  const world = simulatedWorld();
  const { leasehold, driver, runtime } = world.start();
  const attempt = driver.attempt.bind(driver);
  driver.attempt = async (...request) => {
    const answer = await attempt(...request);
    await runtime.clock.sleep(1_000);
    return answer;
  };

  const session = await passTime(world, leasehold.session({ ttl: '30s' }));
  expect(session.remainingTrustMs()).toBe(28_000);
  await world.clock.advance(5_000);

  expect(await passTime(world, session.renew())).toBe(28_000);
});

describe('a session that is over', () => {
  test.each(['ended', 'lost'] as const)('and %s asks for nothing and sleeps no more', async (how) => {
    const world = simulatedWorld();
    const here = world.start();
    const { leasehold } = here;
    const onLost = vi.fn<() => void>();
    const session = await leasehold.session({ ttl: '30s', events: { onLost } });
    const lock = await session.lock('k');
    if (how === 'ended') await session.end();
    else await leasehold.sessions.destroy(session.id);
    await world.clock.advance(31_000);
    expect(lock.signal.aborted).toBe(true);

    const slept = vi.spyOn(ManualClock.prototype, 'sleep');
    expect(await here.cost(() => world.clock.advance(120_000))).toMatchObject({ requests: 0 });
    expect(slept).not.toHaveBeenCalled();
    slept.mockRestore();
    expect(onLost).toHaveBeenCalledTimes(how === 'lost' ? 1 : 0);
  });

  test.each<[string, (session: Session) => Promise<unknown>]>([
    ['lock', (session) => session.lock('k')],
    ['tryLock', (session) => session.tryLock('k')],
    ['lockAll', (session) => session.lockAll(['k', 'l'])],
    ['tryLockAll', (session) => session.tryLockAll(['k', 'l'])],
  ])('gives out no lock by %s whose answer arrives after its end began', async (_verb, ask) => {
    const world = simulatedWorld();
    const { leasehold, driver } = world.start();
    const session = await leasehold.session({ ttl: '30s' });
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<undefined>();
    const attempt = driver.attempt.bind(driver);
    driver.attempt = async (kind, input, signal) => {
      const output = await attempt(kind, input, signal);
      if (kind !== 'batchGet') await arrived;
      return output;
    };

    const locking = ask(session);
    const refused = expect(locking).rejects.toThrow(LeaseLostError);
    await world.clock.advance(0);
    const ending = session.end();
    arrive(undefined);

    await refused;
    await ending;
  });
});
