import { beforeEach, describe, expect, test } from 'vitest';
import { LeaseLostError } from '../../../../shared/core/errors.ts';
import { LockUnavailableError } from '../../../../shared/coordination/lock/lock-record.ts';
import type { Session } from '../../../../shared/client/session.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

const KEY = 'reports/nightly';
/** Sends nothing by itself, so the test counts only the contention. */
const QUIET = { ttl: null, heartbeat: '1d' } as const;

describe('waiting for a lock', () => {
  let world: World;
  let one: Process;
  let other: Process;
  let holder: Session;

  beforeEach(async () => {
    world = simulatedWorld();
    one = world.start();
    other = world.start();
    holder = await one.leasehold.session({ ttl: '30s', lockDelay: '15s' });
  });

  /** How much time passes until a promise settles, by the clock that the world shares. */
  async function timeOf<T>(work: Promise<T>): Promise<{ result: T; ms: number }> {
    const startedAt = world.clock.now();
    const result = await passTime(world, work, 10);
    return { result, ms: world.clock.now() - startedAt };
  }

  test('ends soon after a holder in another process releases', async () => {
    const waiter = await other.leasehold.session({ ttl: '1h' });
    const lock = await holder.lock(KEY);
    const waiting = waiter.lock(KEY);
    await world.clock.advance(20_000);
    await lock.release();

    const { result, ms } = await timeOf(waiting);

    expect(result.fencingToken).toBe(lock.fencingToken + 1);
    expect(ms).toBeLessThanOrEqual(6_100);
  });

  test('sends no request during a lock-delay', async () => {
    await holder.lock(KEY);
    await other.leasehold.sessions.destroy(holder.id);
    const waiter = await other.leasehold.session(QUIET);
    const waiting = waiter.lock(KEY);
    await world.clock.advance(10);

    const during = await other.cost(() => world.clock.advance(15_900));
    const after = await other.cost(() => timeOf(waiting));

    expect(during.requests).toBe(0);
    expect(after.verbs).toEqual({ 'lock.takeOver': 1 });
  });

  test('names the holder when the wait is over', async () => {
    await holder.lock(KEY);
    const waiter = await other.leasehold.session({ ttl: '1h' });

    const { result, ms } = await timeOf(waiter.lock(KEY, { wait: '10s' }).catch((error: unknown) => error));

    expect(result).toBeInstanceOf(LockUnavailableError);
    expect((result as LockUnavailableError).refusal).toMatchObject({ kind: 'held', by: { session: holder.id } });
    expect((result as Error).message).toContain(`held since 2026-03-01T12:00:00.000Z by session ${holder.id}`);
    expect(ms).toBeGreaterThanOrEqual(10_000);
    expect(ms).toBeLessThan(10_100);
  });

  test('ends when the session of the waiter is lost', async () => {
    await holder.lock(KEY);
    const waiter = await other.leasehold.session({ ttl: '30s' });
    const waiting = waiter.lock(KEY);
    const lost = expect(timeOf(waiting)).rejects.toThrow(LeaseLostError);
    await one.leasehold.sessions.destroy(waiter.id);

    await lost;
  });

  test('holds none of several keys while it waits', async () => {
    const lock = await holder.lock('b');
    const waiter = await other.leasehold.session({ ttl: '1h' });
    const waiting = waiter.lockAll(['a', 'b', 'c']);
    await world.clock.advance(10_000);
    expect(await other.leasehold.locks.get('a')).toBeUndefined();
    await lock.release();

    const { result } = await timeOf(waiting);

    expect([...result].map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  });
});
