import { beforeEach, expect, test } from 'vitest';
import { lockKey } from '../../shared/dynamo/engine/keys.ts';
import type { Lock, LockOptions } from '../../shared/coordination/lock/lock.ts';
import type { Session } from '../../shared/client/session.ts';
import type { Process, World } from '../support/coordination.ts';
import { passTime } from '../support/coordination.ts';
import { describeInEveryWorld } from '../support/every-world.ts';
import { SKEW_MS, TTL, acquireNow, openLockWorld, outlive } from '../support/locks.ts';

describeInEveryWorld('several locks at once', (open) => {
  let world: World;
  let one: Process;
  let other: Process;
  let mine: Session;
  let theirs: Session;
  let key: string;

  beforeEach(async () => {
    ({ world, one, other, mine, theirs, key } = await openLockWorld(open()));
  });

  const acquired = (session: Session, name = key, options: LockOptions = {}): Promise<Lock> =>
    acquireNow(session, name, options);
  /** A session from after the clock was stepped: the step must not be held against it. */
  const renewed = (): Promise<Session> => other.leasehold.session({ ttl: TTL });

  const keysOf = (...names: string[]) => names.map((name) => `${key}-${name}`);

  test('are acquired in one read and one transaction, and released each', async () => {
    let acquisition: Awaited<ReturnType<Session['tryLockAll']>> | undefined;
    const cost = await one.cost(async () => (acquisition = await mine.tryLockAll(keysOf('c', 'a', 'b'))));

    expect(cost.verbs).toEqual({ 'lock.getMany': 1, 'lock.acquireAll': 1 });
    if (acquisition?.kind !== 'acquired') throw new Error('not acquired');
    expect([...acquisition.locks].map((lock) => lock.key)).toEqual(keysOf('a', 'b', 'c'));
    for (const lock of acquisition.locks)
      expect(await one.leasehold.verify(lock.sequencer)).toMatchObject({ kind: 'valid' });
    await acquisition.locks.release();
    expect(await theirs.tryLockAll(keysOf('a', 'b', 'c'))).toMatchObject({ kind: 'acquired' });
  });

  test('acquires all keys in one transaction', async () => {
    await acquired(theirs, `${key}-b`);

    const refusal = await mine.tryLockAll(keysOf('a', 'b', 'c'));

    expect(refusal).toMatchObject({ kind: 'held', key: `${key}-b`, by: { session: theirs.id } });
    expect(await theirs.tryLockAll(keysOf('a', 'c'))).toMatchObject({ kind: 'acquired' });
  });

  test('takes no key if the session already holds one of them, and a wait waits for that key', async () => {
    const held = await acquired(mine, `${key}-b`);

    const refused = await mine.tryLockAll(keysOf('a', 'b'));
    const waiting = mine.lockAll(keysOf('a', 'b'));
    expect(refused).toMatchObject({ kind: 'held', key: `${key}-b`, isOwn: true });
    expect(await theirs.tryLock(`${key}-a`)).toMatchObject({ kind: 'acquired' });
    for (const lock of theirs.locks) await lock.release();
    await held.release();

    expect((await passTime(world, waiting)).get(`${key}-b`)?.fencingToken).toBe(held.fencingToken + 1);
  });

  test('accepts keys that the session already holds if asked to, and keeps their counters', async () => {
    const held = await acquired(mine, `${key}-b`);

    const acquisition = await mine.tryLockAll(keysOf('a', 'b'), { reentrant: true });

    if (acquisition.kind !== 'acquired') throw new Error('not acquired');
    expect(acquisition.locks.get(`${key}-b`)).toBe(held);
    expect(acquisition.locks.signal.aborted).toBe(false);
    await held.release();
    expect(acquisition.locks.signal.aborted).toBe(true);
  });

  test('refuses without a write, and keeps the values of held keys', async () => {
    await acquired(mine, `${key}-a`, { value: 'old' });
    await acquired(theirs, `${key}-b`);

    const cost = await one.cost(() => mine.tryLockAll(keysOf('a', 'b'), { value: 'new', reentrant: true }));

    expect(Object.keys(cost.verbs).sort()).toEqual(['lock.getMany', 'session.getMany']);
    expect(await one.leasehold.locks.get(`${key}-a`)).toMatchObject({ value: 'old' });
  });

  test('stores the given value in every key, including keys already held', async () => {
    await acquired(mine, `${key}-a`, { value: 'old' });

    await mine.tryLockAll(keysOf('a', 'b'), { value: 'new', reentrant: true });

    for (const name of keysOf('a', 'b')) expect(await other.leasehold.locks.get(name)).toMatchObject({ value: 'new' });
  });

  test('releases all of them again if a held key went to another session', async () => {
    const { leaseCounter } = await acquired(mine, `${key}-a`);
    const force = { by: 'ann', reason: 'stuck', leaseCounter, lockDelay: 0 };
    await other.leasehold.locks.forceRelease(`${key}-a`, force);
    world.clock.step(SKEW_MS);
    await acquired(theirs, `${key}-a`);

    const refusal = await mine.tryLockAll(keysOf('a', 'b'), { reentrant: true });

    expect(refusal).toMatchObject({ kind: 'held', key: `${key}-a`, by: { session: theirs.id } });
    expect(await theirs.tryLock(`${key}-b`)).toMatchObject({ kind: 'acquired' });
  });

  test('are taken over from a dead holder', async () => {
    const dead = await one.leasehold.session({ ttl: TTL, lockDelay: 0 });
    const first = await acquired(dead, `${key}-a`);
    await acquired(dead, `${key}-b`);
    outlive(world);

    const acquisition = await (await renewed()).tryLockAll(keysOf('a', 'b', 'c'));

    if (acquisition.kind !== 'acquired') throw new Error('not acquired');
    expect(acquisition.locks.get(`${key}-a`)?.fencingToken).toBe(first.fencingToken + 1);
    expect((await world.row(lockKey(`${key}-a`)))?.leaseCounter).toBe(first.fencingToken + 1);
  });

  test('go to exactly one of many who want overlapping sets', async () => {
    const sessions = await Promise.all(Array.from({ length: 6 }, () => other.leasehold.session({ ttl: TTL })));
    const sets = sessions.map((_, n) => keysOf('shared', `own-${n}`));

    const outcomes = await Promise.all(sessions.map((session, n) => session.tryLockAll(sets[n] ?? [])));

    expect(outcomes.filter(({ kind }) => kind === 'acquired')).toHaveLength(1);
  });

  test('are at least one and at most a hundred', async () => {
    await expect(mine.tryLockAll([])).rejects.toThrow('0 lock keys');
    await expect(mine.tryLockAll(Array.from({ length: 101 }, (_, n) => `k${n}`))).rejects.toThrow('101 lock keys');
  });
});
