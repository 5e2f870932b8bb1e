/** Callers of one session who want the same key: each has it for itself, one after the other. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LockUnavailableError } from '../../../../shared/coordination/lock/lock-record.ts';
import type { Session } from '../../../../shared/client/session.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

const KEY = 'report';

describe('a key that several callers of one session want', () => {
  let world: World;
  let here: Process;
  let session: Session;

  beforeEach(async () => {
    world = simulatedWorld();
    here = world.start();
    session = await here.leasehold.session({ ttl: '30s' });
  });

  test('is given to one caller at a time, in order of arrival, each with a larger token', async () => {
    const [inside, most] = [{ count: 0 }, { count: 0 }];
    const order: number[] = [];
    const tokens: number[] = [];
    const use = async (caller: number): Promise<void> => {
      await using lock = await session.lock(KEY);
      most.count = Math.max(most.count, ++inside.count);
      order.push(caller);
      tokens.push(lock.fencingToken);
      await world.clock.sleep(2_000);
      expect(lock.signal.aborted).toBe(false);
      inside.count--;
    };

    await passTime(world, Promise.all([1, 2, 3].map(use)));

    expect(most.count).toBe(1);
    expect(order).toEqual([1, 2, 3]);
    expect(tokens).toEqual([tokens[0], (tokens[0] ?? 0) + 1, (tokens[0] ?? 0) + 2]);
  });

  test('costs no request to wait for while the session holds it', async () => {
    const lock = await session.lock(KEY);
    const waiting = session.lock(KEY);

    const cost = await here.cost(() => passTime(world, world.clock.sleep(60_000)));
    await lock.release();
    await passTime(world, waiting);

    expect(Object.keys(cost.verbs)).toEqual(['session.renew']);
  });

  test('is requested only after a release in flight has been answered', async () => {
    const lock = await session.lock(KEY);
    // The release is sent once more after a while; an acquire that does not wait for it would overtake it.
    here.driver.accidents.push('throttle');
    const releasing = lock.release();
    const again = session.tryLock(KEY);

    expect(await passTime(world, releasing)).toBe(true);
    expect(await passTime(world, again)).toMatchObject({
      kind: 'acquired',
      lock: { fencingToken: lock.fencingToken + 1 },
    });
  });

  test("names the caller's own session as holder when the wait is over", async () => {
    await session.lock(KEY);

    const error: unknown = await passTime(world, session.lock(KEY, { wait: '3s' })).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error).toMatchObject({ refusal: { kind: 'held', isOwn: true, by: { session: session.id } } });
    expect(String(error)).toContain('by this very session');
  });

  test('is refused to its holder and to others until the same moment', async () => {
    const other = await here.leasehold.session({ ttl: '30s' });
    await session.lock(KEY);

    const own = await session.tryLock(KEY, { reentrant: false });

    expect(own).toMatchObject({ kind: 'held', isOwn: true });
    const { isOwn: _, ...asToOthers } = own as { readonly isOwn?: true };
    expect(await other.tryLock(KEY)).toEqual(asToOthers);
  });

  test('is given to nobody once the session has begun to end', async () => {
    const lock = await session.lock(KEY);
    // The lock's release is sent a second time, so that the session still lives when the others ask.
    here.driver.accidents.push('throttle');
    const ending = session.end();
    const asking = [session.lock(KEY), session.lock('other'), session.lockAll(['third', 'fourth'])].map((asked) =>
      asked.catch((thrown: unknown) => thrown),
    );

    await passTime(world, ending);

    for (const refused of await passTime(world, Promise.all(asking)))
      expect(refused).toMatchObject({ name: 'LeaseLostError', reason: 'released' });
    const { leasehold } = world.start();
    expect((await leasehold.locks.get(KEY))?.leaseCounter).toBe(lock.leaseCounter);
    for (const key of ['other', 'third', 'fourth']) expect(await leasehold.locks.get(key)).toBeUndefined();
  });

  describe('without a limit', () => {
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
    afterEach(() => {
      warned.mockReset();
    });

    test('warns once if the own session has held it for long', async () => {
      const lock = await session.lock(KEY);
      const waiting = session.lock(KEY);
      await world.clock.advance(20_000);
      expect(warned).not.toHaveBeenCalled();

      await world.clock.advance(60_000);
      await lock.release();
      await passTime(world, waiting);

      expect(warned).toHaveBeenCalledOnce();
      expect(warned.mock.calls[0]?.[0]).toMatch(/waits for lock report, .*by this very session/);
    });
  });
});

test('a handle of an earlier tenure of the same session changes nothing of the later one', async () => {
  const world = simulatedWorld();
  const [here, there] = [world.start().leasehold, world.start().leasehold];
  const session = await here.session({ ttl: '10m', lockDelay: 0 });
  const earlier = await session.lock('k', { value: 'earlier' });
  const { leaseCounter } = earlier;
  await there.locks.forceRelease('k', { leaseCounter, by: 'ann', reason: 'it hangs', lockDelay: 0 });
  await world.clock.advance(2_000);

  const late = earlier.update('late').catch((error: unknown) => error);
  expect(await late).toMatchObject({ name: 'LeaseLostError', reason: 'superseded' });
  const later = await session.lock('k', { value: 'later' });
  expect(await earlier.release()).toBe(false);

  expect(await there.locks.get('k')).toMatchObject({ value: 'later', holder: { leaseCounter: later.leaseCounter } });
});

test('remembers the counters of the last thousand keys that it released, the latest of all', async () => {
  const here = simulatedWorld().start();
  const session = await here.leasehold.session({ ttl: '10m' });
  const use = async (at: number): Promise<void> => {
    await (await session.lock(`k${at}`)).release();
  };
  for (let at = 0; at < 1_000; at++) await use(at);
  await use(0);
  await use(1_000);

  const [kept, forgotten] = [await here.cost(() => session.lock('k0')), await here.cost(() => session.lock('k1'))];

  expect([kept.requests, forgotten.requests]).toEqual([1, 2]);
});
