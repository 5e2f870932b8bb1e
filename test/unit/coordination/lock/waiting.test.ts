import { beforeEach, describe, expect, test } from 'vitest';
import { LeaseLostError, StoreUnavailableError } from '../../../../shared/core/errors.ts';
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

  test('ends at once after a holder in the same process releases', async () => {
    const waiter = await one.leasehold.session({ ttl: '1h' });
    const lock = await holder.lock(KEY);
    const waiting = waiter.lock(KEY);
    await world.clock.advance(20_000);
    await lock.release();

    expect((await timeOf(waiting)).ms).toBeLessThanOrEqual(20);
  });

  test('ends after the TTL, the lock-delay and the clock bound of a crashed holder', async () => {
    const dying = await one.leasehold.session({ ttl: '30s', lockDelay: '15s' });
    await dying.lock(KEY);
    one.driver.isDown = true;
    const waiter = await other.leasehold.session({ ttl: '1h' });

    const { ms } = await timeOf(waiter.lock(KEY));

    // The session is found expired up to a tenth later, and the delay begins when it is ended.
    expect(ms).toBeGreaterThanOrEqual(30_000 + 1_000 + 15_000 + 1_000);
    expect(ms).toBeLessThanOrEqual(30_000 + 1_000 + 2_000 + 15_000 + 1_000 + 2_000);
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

  test('polls at its own interval, whatever pause another caller of its process has', async () => {
    const lock = await holder.lock(KEY);
    const waiter = await other.leasehold.session({ ttl: '1h' });
    const stop = new AbortController();
    const patient = waiter.lock(KEY, { pause: '1h', signal: stop.signal }).catch((error: unknown) => error);
    await world.clock.advance(20_000);
    const waiting = waiter.lock(KEY, { wait: '1m' });
    await world.clock.advance(1_000);
    await lock.release();

    expect((await timeOf(waiting)).ms).toBeLessThanOrEqual(6_100);
    stop.abort();
    await patient;
  });

  test('makes one attempt if the wait is 0', async () => {
    const waiter = await other.leasehold.session({ ttl: '1h' });
    expect(await waiter.lock('free', { wait: 0 })).toMatchObject({ key: 'free' });
    await holder.lock(KEY);

    await expect(timeOf(waiter.lock(KEY, { wait: 0 }))).rejects.toThrow(LockUnavailableError);
  });

  test('ends with the reason of its signal', async () => {
    await holder.lock(KEY);
    const waiter = await other.leasehold.session({ ttl: '1h' });
    const controller = new AbortController();
    const waiting = waiter.lock(KEY, { signal: controller.signal });
    await world.clock.advance(3_000);
    controller.abort(new Error('changed my mind'));

    await expect(timeOf(waiting)).rejects.toThrow('changed my mind');
  });

  test('ends when the session of the waiter is lost', async () => {
    await holder.lock(KEY);
    const waiter = await other.leasehold.session({ ttl: '30s' });
    const waiting = waiter.lock(KEY);
    const lost = expect(timeOf(waiting)).rejects.toThrow(LeaseLostError);
    await one.leasehold.sessions.destroy(waiter.id);

    await lost;
  });

  test('outlasts an unavailable store within its wait', async () => {
    const waiter = await other.leasehold.session(QUIET);
    other.driver.isDown = true;
    const patient = waiter.lock(KEY, { wait: '60s' });
    const impatient = waiter.lock('other', { wait: '5s' }).catch((error: unknown) => error);

    expect((await timeOf(impatient)).result).toBeInstanceOf(StoreUnavailableError);
    other.driver.isDown = false;
    expect((await timeOf(patient)).result).toMatchObject({ key: KEY });
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

  test('does not deadlock between two processes that want each other’s keys', async () => {
    const waiter = await other.leasehold.session({ ttl: '1h' });
    const first = await holder.lockAll(['a', 'b']);
    const second = waiter.lockAll(['b', 'a'], { wait: '60s' });
    await world.clock.advance(1_000);
    await first.release();

    expect((await timeOf(second)).result).toBeDefined();
  });

  describe('by a crowd of 200', () => {
    test('costs at most 300 requests a second from 200 processes', async () => {
      await holder.lock(KEY);
      const crowd = await Promise.all(
        Array.from({ length: 200 }, async () => {
          const process = world.start();
          return { process, session: await process.leasehold.session(QUIET) };
        }),
      );
      const stop = new AbortController();
      const waiting = crowd.map(({ session }) => session.lock(KEY, { signal: stop.signal }).catch(() => undefined));
      const requestsIn = async (ms: number): Promise<number> => {
        const costs = crowd.map(({ process }) => process.cost(() => world.clock.sleep(ms)));
        await world.clock.advance(ms);
        return (await Promise.all(costs)).reduce((sum, { requests }) => sum + requests, 0);
      };

      const early = await requestsIn(30_000);
      const late = await requestsIn(30_000);
      stop.abort();
      await Promise.all(waiting);

      expect(early / 30).toBeLessThanOrEqual(300);
      expect(late / 30).toBeLessThanOrEqual(280);
    });

    test('costs the same as one waiter in one process, and serves everyone in order', async () => {
      const lock = await holder.lock(KEY);
      const sessions = await Promise.all(Array.from({ length: 200 }, () => other.leasehold.session(QUIET)));
      const order: number[] = [];
      const waiting = sessions.map(async (session, n) => {
        await using _ = await session.lock(KEY);
        order.push(n);
      });

      const cost = await other.cost(() => world.clock.advance(60_000));
      expect(cost.requests).toBeLessThan(100);
      await lock.release();
      await timeOf(Promise.all(waiting));

      expect(order).toEqual(sessions.map((_, n) => n));
    });
  });
});
