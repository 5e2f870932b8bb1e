/** `SessionHolder`: hooks, revocations, the orderly end, and sessions without a TTL. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LeaseLostError } from '../../../shared/core/errors.ts';
import { simulatedWorld } from '../../support/coordination.ts';

const BY_OPERATOR = { by: 'operator', reason: 'stuck' };

describe('SessionHolder with a hook that throws', () => {
  const throws = (): never => {
    throw new TypeError('the metrics client is closed');
  };
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  afterEach(() => {
    warned.mockClear();
  });

  test('keeps the process and the heartbeat running, and can still be ended', async () => {
    const world = simulatedWorld();
    const { leasehold, driver } = world.start();
    const session = await leasehold.session({ ttl: '30s', events: { onRenewed: throws, onRenewalFailed: throws } });

    await world.clock.advance(60_000);
    driver.accidents.push('throttle');
    await world.clock.advance(10_000);
    expect(session.record.renewals).toBeGreaterThan(5);
    await session.end();

    expect(await leasehold.sessions.get(session.id)).toMatchObject({ status: 'invalid', reason: 'ended' });
    expect(warned).toHaveBeenCalledOnce();
  });
});

test('SessionHolder removes a revoked lock before it calls onRenewed', async () => {
  const world = simulatedWorld();
  const { leasehold } = world.start();
  const seen: boolean[] = [];
  const events = { onRenewed: () => void seen.push(session.locks.some(({ key }) => key === 'k')) };
  const session = await leasehold.session({ ttl: '30s', events });
  const { leaseCounter } = await session.lock('k');
  await leasehold.locks.forceRelease('k', { ...BY_OPERATOR, leaseCounter });

  await world.clock.advance(10_000);

  expect(seen).toEqual([false]);
});

describe('SessionHolder.end', () => {
  test('aborts the session and everything it holds, once each, without calling onLost', async () => {
    const onLost = vi.fn<() => void>();
    const session = await simulatedWorld().start().leasehold.session({ events: { onLost } });
    const holders = { lock: await session.lock('k'), permit: await session.permit('s', { limit: 1 }), session };
    const aborts: string[] = [];
    for (const [name, { signal }] of Object.entries(holders))
      signal.addEventListener('abort', () => void aborts.push(name));

    await session.end();
    await session.end();

    // The lock is released while the session is still live.
    expect([aborts[0], aborts.toSorted()]).toEqual(['lock', ['lock', 'permit', 'session']]);
    for (const { signal } of Object.values(holders)) {
      expect(signal.reason).toBeInstanceOf(LeaseLostError);
      expect(signal.reason).toMatchObject({ reason: 'released' });
    }
    expect(onLost).not.toHaveBeenCalled();
  });

  test('ends waits that are queued behind other waiters of the process', async () => {
    const world = simulatedWorld();
    const { leasehold } = world.start();
    const [holder, first, second] = [
      await leasehold.session(),
      await leasehold.session(),
      await leasehold.session({ name: 'second' }),
    ];
    await holder.lock('k');
    await holder.permit('s', { limit: 1 });
    const ahead = new AbortController();
    const inFront = [first.lock('k', { signal: ahead.signal }), first.permit('s', { limit: 1, signal: ahead.signal })];
    const ended: unknown[] = [];
    for (const wait of [second.lock('k'), second.permit('s', { limit: 1 })])
      void wait.catch((error: unknown) => ended.push(error));
    await world.clock.advance(1_000);

    await second.end();
    await world.clock.advance(1_000);

    expect(ended).toMatchObject([{ reason: 'released' }, { reason: 'released' }]);
    ahead.abort(new Error('over'));
    await Promise.allSettled(inFront);
  });

  test('stops a job that runs in a limiter slot', async () => {
    const world = simulatedWorld();
    const { leasehold } = world.start();
    const session = await leasehold.session();
    const stopped = Promise.withResolvers<unknown>();
    const running = session.limiter('l', { limit: 1 }).run(async (signal) => {
      signal.addEventListener('abort', () => {
        stopped.resolve(signal.reason);
      });
      await stopped.promise;
    });
    await world.clock.advance(1_000);

    await session.end();

    expect(await stopped.promise).toMatchObject({ reason: 'released' });
    await running;
  });
});
