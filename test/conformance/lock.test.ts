import { beforeEach, describe, expect, test } from 'vitest';
import { ClockSkewError, LeaseLostError } from '../../shared/core/errors.ts';
import type { Lock, LockOptions } from '../../shared/coordination/lock/lock.ts';
import type { Session } from '../../shared/client/session.ts';
import type { Process, World } from '../support/coordination.ts';
import { describeInEveryWorld } from '../support/every-world.ts';
import { LOCK_DELAY_MS, SKEW_MS, TTL, TTL_MS, acquireNow, openLockWorld, outlive } from '../support/locks.ts';

describeInEveryWorld('locks', (open) => {
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

  describe('acquire', () => {
    test('takes an unused key, in one request', async () => {
      const cost = await one.cost(() => acquired(mine));

      expect(cost).toMatchObject({ requests: 1, verbs: { 'lock.acquire': 1 } });
      if (world.hasExactUnits) expect(cost.writeUnits).toBe(2); // the row, and its entry in the listing, once
    });

    test('costs two requests and two write units for acquire and release of an existing key', async () => {
      await (await acquired(mine)).release();

      const cost = await one.cost(async () => (await acquired(mine)).release());

      expect(cost.verbs).toEqual({ 'lock.acquire': 1, 'lock.release': 1 });
      if (world.hasExactUnits) expect(cost).toMatchObject({ writeUnits: 2, readUnits: 0 });
    });

    test('takes a key that was given back long enough ago for clocks to tell, in one request', async () => {
      await (await acquired(mine)).release();
      world.clock.step(SKEW_MS + 1);

      const cost = await other.cost(() => acquired(theirs));

      expect(cost.verbs).toEqual({ 'lock.acquire': 1 });
    });

    test('takes a key that another process has just released in two requests, after a read', async () => {
      await (await acquired(mine)).release();

      const cost = await other.cost(() => acquired(theirs));

      expect(cost.verbs).toEqual({ 'lock.acquire': 2 });
    });

    test('refuses an acquire of a held key, and reports the holder, the acquire and the earliest end', async () => {
      const lock = await acquired(mine);
      const since = world.clock.now();

      const refusal = await theirs.tryLock(key);

      expect(refusal).toEqual({
        kind: 'held',
        key,
        by: {
          session: mine.id,
          leaseCounter: lock.leaseCounter,
          name: mine.record.name,
          node: mine.record.node,
          since,
          until: since + TTL_MS + SKEW_MS,
        },
      });
    });

    test('gives every tenure a larger counter', async () => {
      const first = await acquired(mine);
      await first.release();
      const second = await acquired(theirs);
      await second.release();
      const third = await acquired(mine);

      expect(second.fencingToken).toBe(first.fencingToken + 1);
      expect(third.fencingToken).toBe(second.fencingToken + 1);
    });

    test('starts the counter of a missing row at the clock, above every counter that a swept row gave out', async () => {
      const lock = await acquired(mine);

      expect(lock.fencingToken).toBe(world.clock.now() + 1);
    });

    test('again by a re-entrant caller of the same session keeps the counter and replaces the value', async () => {
      const lock = await acquired(mine, key, { value: 'a' });

      const again = await acquired(mine, key, { value: 'b', reentrant: true });

      expect(again).toBe(lock);
      expect(again.value).toBe('b');
      expect(await one.leasehold.locks.get(key)).toMatchObject({ value: 'b', leaseCounter: lock.leaseCounter });
    });

    test('keeps the existing value if no value is given', async () => {
      await (await acquired(mine, key, { value: 'state' })).release();

      expect((await acquired(theirs)).value).toBe('state');
    });

    test('gives two concurrent re-entrant callers of one session the same tenure', async () => {
      const reentrant = { reentrant: true };
      const [first, second] = await Promise.all([acquired(mine, key, reentrant), acquired(mine, key, reentrant)]);

      expect(first).toBe(second);
    });

    test('does not trust a lock that was granted while its session ended', async () => {
      const acquiring = mine.tryLock(key).catch((error: unknown) => error);
      await mine.end();

      const acquisition = await acquiring;

      if (acquisition instanceof LeaseLostError) return; // the end was faster
      expect(acquisition).toMatchObject({ kind: 'acquired', lock: { signal: { aborted: true } } });
    });

    test('is refused by a session that is lost, before anything is sent', async () => {
      world.clock.step(TTL_MS);

      const cost = await one.cost(() => expect(mine.tryLock(key)).rejects.toThrow(LeaseLostError));

      expect(cost.requests).toBe(0);
    });
  });

  describe('an expired holder', () => {
    test('loses its key within four requests', async () => {
      const short = await one.leasehold.session({ ttl: TTL, lockDelay: 0 });
      const before = await acquired(short);
      outlive(world);
      const session = await renewed();

      let lock: Lock | undefined;
      const cost = await other.cost(async () => (lock = await acquired(session)));

      expect(cost.verbs).toEqual({ 'lock.acquire': 1, 'session.get': 1, 'session.expire': 1, 'lock.takeOver': 1 });
      expect(lock?.fencingToken).toBe(before.fencingToken + 1);
      expect(before.signal.aborted).toBe(true);
    });

    test('keeps its key until its TTL and the clock bound have passed', async () => {
      await acquired(await one.leasehold.session({ ttl: TTL, lockDelay: 0 }));
      world.clock.step(TTL_MS + SKEW_MS - 1);

      expect(await (await renewed()).tryLock(key)).toMatchObject({ kind: 'held' });
    });

    test('leaves its key closed for the lock-delay, for every process', async () => {
      await acquired(mine);
      outlive(world);
      const endedAt = world.clock.now();
      const session = await renewed();

      expect(await session.tryLock(key)).toEqual({ kind: 'delayed', key, until: endedAt + LOCK_DELAY_MS + SKEW_MS });
      world.clock.step(LOCK_DELAY_MS + SKEW_MS - 1);
      const third = await world.start().leasehold.session({ ttl: TTL });
      expect(await third.tryLock(key)).toMatchObject({ kind: 'delayed' });
      world.clock.step(1);
      expect(await third.tryLock(key)).toMatchObject({ kind: 'acquired' });
    });

    test('leaves its key closed even after a reader has settled it', async () => {
      await acquired(mine);
      outlive(world);

      const seen = await other.leasehold.locks.get(key);

      expect(seen).toMatchObject({ holder: undefined, closedUntil: world.clock.now() + LOCK_DELAY_MS + SKEW_MS });
      expect(await (await renewed()).tryLock(key)).toMatchObject({ kind: 'delayed' });
    });

    test('keeps the keys of a destroyed session closed for the lock-delay', async () => {
      await acquired(mine);

      await other.leasehold.sessions.destroy(mine.id);

      expect(await theirs.tryLock(key)).toMatchObject({ kind: 'delayed' });
    });

    test('leaves no delay after an orderly end, even if it could not release', async () => {
      await acquired(mine);
      await mine.holder.end();

      expect(await theirs.tryLock(key)).toMatchObject({ kind: 'acquired' });
    });

    test('keeps the key of a session without TTL until the session is destroyed', async () => {
      const forever = await one.leasehold.session({ ttl: null, lockDelay: 0 });
      await acquired(forever);
      world.clock.step(365 * 86_400_000);
      const session = await renewed();

      expect(await session.tryLock(key)).toMatchObject({ kind: 'held', by: { until: null } });
      await other.leasehold.sessions.destroy(forever.id);
      expect(await session.tryLock(key)).toMatchObject({ kind: 'acquired' });
    });

    test('is left alone by a process whose clock is proven wrong by more than the bound', async () => {
      await acquired(await one.leasehold.session({ ttl: TTL, lockDelay: 0 }));
      const session = await other.leasehold.session({ ttl: '1h' });
      other.clockError.ms = TTL_MS * 2;
      other.provenSkew.ms = TTL_MS * 2;

      await expect(session.tryLock(key)).rejects.toThrow(ClockSkewError);
      expect(await one.leasehold.locks.get(key)).toMatchObject({ holder: { session: expect.any(String) as string } });
    });
  });

  describe('a holder', () => {
    test('updates its value and keeps its counter', async () => {
      const lock = await acquired(mine, key, { value: 'a' });

      await lock.update('b');

      expect(await other.leasehold.locks.get(key)).toMatchObject({
        value: 'b',
        leaseCounter: lock.leaseCounter,
      });
    });

    test('rejects every write of a superseded holder, and reports it', async () => {
      const zombie = await acquired(mine, key, { value: 'old' });
      await one.leasehold.locks.forceRelease(key, {
        by: 'ann',
        reason: 'test',
        leaseCounter: zombie.leaseCounter,
        lockDelay: 0,
      });
      world.clock.step(SKEW_MS);
      const lock = await acquired(theirs, key, { value: 'new' });

      await expect(zombie.update('late')).rejects.toThrow(LeaseLostError);

      expect(zombie.signal.aborted).toBe(true);
      expect(await zombie.release()).toBe(false);
      expect(await one.leasehold.locks.get(key)).toMatchObject({ value: 'new', holder: { session: theirs.id } });
      expect(lock.signal.aborted).toBe(false);
    });

    test('releases only once when called repeatedly', async () => {
      const lock = await acquired(mine);

      const cost = await one.cost(async () => {
        expect(await Promise.all([lock.release(), lock.release()])).toEqual([true, true]);
        expect(await lock.release()).toBe(true);
      });

      expect(cost.requests).toBe(1);
      expect(lock.signal.aborted).toBe(true);
    });

    test('leaves a value at its release if it wants to', async () => {
      const lock = await acquired(mine, key, { value: 'running' });

      await lock.release({ value: 'finished' });

      expect(await other.leasehold.locks.get(key)).toMatchObject({ value: 'finished', holder: undefined });
    });

    test('gives everything back when its session ends', async () => {
      const locks = [await acquired(mine, `${key}-1`), await acquired(mine, `${key}-2`)];

      await mine.end();

      expect(locks.map(({ signal }) => signal.aborted)).toEqual([true, true]);
      world.clock.step(SKEW_MS + 1);
      world.clock.step(SKEW_MS + 1);
      const cost = await other.cost(async () => {
        await acquired(theirs, `${key}-1`);
        await acquired(theirs, `${key}-2`);
      });
      expect(cost.requests).toBe(2);
    });

    test('makes a transaction of its user depend on the tenure', async () => {
      const lock = await acquired(mine);
      const put = { Put: { TableName: world.table, Item: { pk: `user#${key}`, sk: 'row', n: 1 } } };
      const transact = () =>
        world.driver.attempt('transactWrite', { TransactItems: [lock.condition(), put] }, new AbortController().signal);

      await transact();
      await lock.release();

      await expect(transact()).rejects.toMatchObject({ kind: 'transactionCanceled' });
    });
  });

  describe('a listing', () => {
    test('shows the entries under a prefix, in order, with who holds them', async () => {
      await acquired(mine, `${key}/b`);
      await one.leasehold.locks.put(`${key}/a`, 'value');
      await one.leasehold.locks.put(`${key}x`, 'elsewhere');
      await one.leasehold.locks.put(`${key}/gone`, 'value');
      await one.leasehold.locks.delete(`${key}/gone`);

      const found = await Array.fromAsync(one.leasehold.locks.list(`${key}/`));

      expect(found.map(({ key: name, holder }) => [name, holder?.session])).toEqual([
        [`${key}/a`, undefined],
        [`${key}/b`, mine.id],
      ]);
    });
  });

  describe('a sequencer', () => {
    test('is valid for its tenure only', async () => {
      const lock = await acquired(mine);
      const { verify } = { verify: (text: string) => other.leasehold.verify(text) };

      const cost = await other.cost(async () => {
        expect(await verify(lock.sequencer)).toEqual({ kind: 'valid', until: world.clock.now() + TTL_MS + SKEW_MS });
      });
      expect(cost.requests).toBe(1);
      await lock.release();
      expect(await verify(lock.sequencer)).toEqual({ kind: 'released' });
      const again = await acquired(mine);
      expect(await verify(lock.sequencer)).toEqual({ kind: 'superseded', leaseCounter: again.leaseCounter });
      await one.leasehold.sessions.destroy(mine.id);
      expect(await verify(again.sequencer)).toEqual({ kind: 'sessionDead' });
    });

    test('rejects the sequencer of an expired session that has not been ended yet', async () => {
      const lock = await acquired(mine);
      outlive(world);

      expect(await other.leasehold.verify(lock.sequencer)).toEqual({ kind: 'sessionDead' });
    });

    test('rejects a sequencer of another table, a changed one, and arbitrary text', async () => {
      const { sequencer } = await acquired(mine);
      const elsewhere = world.start({ table: 'elsewhere' });

      await expect(elsewhere.leasehold.verify(sequencer)).rejects.toThrow(`belongs to table ${world.table}`);
      await expect(one.leasehold.verify(sequencer.replace(key, 'other'))).rejects.toThrow('the sequencer was changed');
      await expect(one.leasehold.verify('nonsense')).rejects.toThrow('not a sequencer');
    });
  });
});
