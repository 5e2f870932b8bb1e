import { beforeEach, describe, expect, test } from 'vitest';
import { lockKey } from '../../shared/dynamo/engine/keys.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import type { Lock } from '../../shared/coordination/lock/lock.ts';
import { VALUE_LIMIT_BYTES } from '../../shared/coordination/lock/lock-record.ts';
import type { Session } from '../../shared/client/session.ts';
import type { Process, World } from '../support/coordination.ts';
import { describeInEveryWorld } from '../support/every-world.ts';
import { TTL, acquireNow, openLockWorld, outlive } from '../support/locks.ts';
import { SCHEMA_VERSION } from '../../shared/dynamo/engine/schema.ts';

describeInEveryWorld('the values of locks', (open) => {
  let world: World;
  let one: Process;
  let other: Process;
  let mine: Session;
  let theirs: Session;
  let key: string;

  beforeEach(async () => {
    ({ world, one, other, mine, theirs, key } = await openLockWorld(open()));
  });

  const acquired = (session: Session, name = key, options: { value?: string } = {}): Promise<Lock> =>
    acquireNow(session, name, options);
  /** A session from after the clock was stepped: the step must not be held against it. */
  const renewed = (): Promise<Session> => other.leasehold.session({ ttl: TTL });

  describe('behaviour delete', () => {
    test('takes the value away with the session, and keeps the counter', async () => {
      const ephemeral = await one.leasehold.session({ ttl: TTL, behavior: 'delete', lockDelay: 0 });
      const lock = await acquired(ephemeral, key, { value: 'here' });
      outlive(world);

      expect(await other.leasehold.locks.get(key)).toBeUndefined();
      expect(await Array.fromAsync(other.leasehold.locks.list(key))).toEqual([]);
      const next = await acquired(await renewed());
      expect(next.value).toBeUndefined();
      expect(next.fencingToken).toBe(lock.fencingToken + 1);
    });

    test('takes the value away when a contender comes before any reader', async () => {
      const ephemeral = await one.leasehold.session({ ttl: TTL, behavior: 'delete', lockDelay: 0 });
      await acquired(ephemeral, key, { value: 'here' });
      outlive(world);

      expect((await acquired(await renewed())).value).toBeUndefined();
    });

    test('takes the value away at an orderly end', async () => {
      const ephemeral = await one.leasehold.session({ ttl: TTL, behavior: 'delete' });
      await acquired(ephemeral, key, { value: 'here' });

      await ephemeral.end();

      expect(await world.row(lockKey(key))).not.toHaveProperty('value');
      expect(await other.leasehold.locks.get(key)).toBeUndefined();
    });

    test('takes the value away when an operator releases the key by force', async () => {
      const ephemeral = await one.leasehold.session({ ttl: TTL, behavior: 'delete' });
      const { fencingToken: leaseCounter } = await acquired(ephemeral, key, { value: 'here' });

      await other.leasehold.locks.forceRelease(key, { by: 'ann', reason: 'stuck', leaseCounter });

      expect(await other.leasehold.locks.get(key)).toBeUndefined();
      expect(await Array.fromAsync(other.leasehold.locks.list(key))).toEqual([]);
      expect(await world.row(lockKey(key))).toMatchObject({ forced: { by: 'ann', leaseCounter } });
    });

    test('keeps a value that is put after the session expired', async () => {
      const ephemeral = await one.leasehold.session({ ttl: TTL, behavior: 'delete', lockDelay: 0 });
      await acquired(ephemeral, key, { value: 'here' });
      outlive(world);

      expect(await other.leasehold.locks.put(key, 'mine')).toMatchObject({ kind: 'written' });
      expect(await other.leasehold.locks.get(key)).toMatchObject({ value: 'mine', holder: undefined });
    });
  });

  describe('a sweep', () => {
    const ttlOf = async () => (await world.row(lockKey(key)))?.ttl;

    test('cannot delete a held row or one with a value, but deletes one with only a counter', async () => {
      const lock = await acquired(mine);
      expect(await ttlOf()).toBeUndefined();

      await lock.release();
      expect(await ttlOf()).toBeGreaterThan(world.clock.now() / 1_000 + 29 * 86_400);

      await (await acquired(mine, key, { value: 'x' })).release();
      expect(await ttlOf()).toBeUndefined();

      await one.leasehold.locks.delete(key);
      expect(await ttlOf()).toBeGreaterThan(world.clock.now() / 1_000);
    });

    test('cannot take a value that was put under the holder’s hands', async () => {
      const lock = await acquired(mine);
      await other.leasehold.locks.put(key, 'beside', { evenIfHeld: true });

      expect(await lock.release()).toBe(true);

      expect(await ttlOf()).toBeUndefined();
      expect(await other.leasehold.locks.get(key)).toMatchObject({ value: 'beside' });
    });
  });

  describe('values without a lock', () => {
    test('are put, read and deleted, and the counter survives', async () => {
      const { locks } = one.leasehold;
      const lock = await acquired(mine);
      await lock.release();

      await locks.put(key, 'v');
      expect(await locks.get(key)).toMatchObject({ value: 'v', holder: undefined });
      expect(await locks.delete(key)).toEqual({ kind: 'deleted', closedUntil: 0, trustedUntil: 0 });
      expect(await locks.get(key)).toBeUndefined();
      expect(await locks.delete(key)).toEqual({ kind: 'absent' });
      expect((await acquired(theirs)).fencingToken).toBe(lock.fencingToken + 1);
    });

    test('are set only if the index is the expected one', async () => {
      const { locks } = one.leasehold;
      const created = await locks.put(key, 'a', { ifIndex: 0 });
      const index = created.kind === 'written' ? created.info.modifyIndex : 0;

      expect(await locks.put(key, 'b', { ifIndex: 0 })).toMatchObject({ kind: 'conflict', current: { value: 'a' } });
      expect(await locks.put(key, 'b', { ifIndex: index })).toMatchObject({ kind: 'written' });
      expect(await locks.put(key, 'c', { ifIndex: index })).toMatchObject({
        kind: 'conflict',
        current: { value: 'b' },
      });
      expect(await locks.delete(key, { ifIndex: index })).toMatchObject({ kind: 'conflict' });
    });

    test('loses no update of concurrent check-and-set callers', async () => {
      const { locks } = one.leasehold;
      await locks.put(key, '0');
      const add = async (): Promise<void> => {
        for (;;) {
          const info = await locks.get(key);
          const options = { ifIndex: info?.modifyIndex ?? 0 };
          if ((await locks.put(key, String(Number(info?.value) + 1), options)).kind === 'written') return;
        }
      };

      await Promise.all([add(), add(), add(), add()]);

      expect(await locks.get(key)).toMatchObject({ value: '4' });
    });

    test('are not put or deleted under a holder’s hands, unless the caller insists', async () => {
      const { locks } = other.leasehold;
      const lock = await acquired(mine, key, { value: 'held' });

      expect(await locks.put(key, 'x')).toMatchObject({ kind: 'held', by: { session: mine.id } });
      expect(await locks.delete(key)).toMatchObject({ kind: 'held' });
      expect(await locks.put(key, 'x', { evenIfHeld: true })).toMatchObject({ kind: 'written' });
      await lock.update('y');
      expect(await locks.get(key)).toMatchObject({ value: 'y', holder: { session: mine.id } });
    });

    test('creates a different entry after a deletion', async () => {
      const { locks } = one.leasehold;
      await locks.put(key, 'a');
      const before = await locks.get(key);
      await locks.delete(key);
      world.clock.step(5);
      await locks.put(key, 'a');
      const after = await locks.get(key);

      expect(after?.createdAt).not.toBe(before?.createdAt);
      expect(after?.modifyIndex).toBeGreaterThan(before?.modifyIndex ?? 0);
    });
  });

  describe('bad input', () => {
    test.each([
      ['an empty key', '', 'is empty'],
      ['a key of 3 KB', 'k'.repeat(3_000), 'has 3000 bytes: at most 512'],
      ['half a surrogate pair', '\ud800', 'not well-formed'],
    ])('%s is refused, and nothing is sent', async (_what, bad, message) => {
      const cost = await one.cost(async () => {
        await expect(mine.tryLock(bad)).rejects.toThrow(message);
        await expect(one.leasehold.locks.get(bad)).rejects.toThrow(ConfigurationError);
        await expect(one.leasehold.locks.put(bad, 'x')).rejects.toThrow(ConfigurationError);
        await expect(one.leasehold.locks.delete(bad)).rejects.toThrow(ConfigurationError);
      });

      expect(cost.requests).toBe(0);
    });

    test('keys that would collide if they were joined naively are different keys', async () => {
      const keys = [`${key}#a`, `${key}%23a`, `${key}%2523a`, `${key}/a`, `lock#${key}`];

      const locks = [];
      for (const name of keys) locks.push(await acquired(mine, name, { value: name }));

      expect(new Set(locks).size).toBe(keys.length);
      for (const name of keys) expect(await other.leasehold.locks.get(name)).toMatchObject({ key: name, value: name });
    });

    test('stores hostile text unchanged', async () => {
      for (const text of ['#pk = :v', '__proto__', '$&', '\u0000', '𝕏 é', "'; DROP TABLE"])
        expect((await acquired(mine, `${key} ${text}`, { value: text })).value).toBe(text);
    });

    test('a value over the limit is refused, one of exactly the limit is not', async () => {
      await expect(mine.tryLock(key, { value: 'x'.repeat(VALUE_LIMIT_BYTES + 1) })).rejects.toThrow('at most 65536');

      const lock = await acquired(mine, key, { value: 'x'.repeat(VALUE_LIMIT_BYTES) });

      await expect(lock.update('é'.repeat(VALUE_LIMIT_BYTES / 2 + 1))).rejects.toThrow('at most 65536');
      expect(lock.signal.aborted).toBe(false);
    });

    test('fails closed for the key of a row that does not decode, and only for that key', async () => {
      const item = { ...lockKey(key), v: SCHEMA_VERSION, modifyIndex: 'many', nonce: 'x', session: 'somebody' };
      await world.driver.attempt('put', { TableName: world.table, Item: item }, new AbortController().signal);

      await expect(mine.tryLock(key)).rejects.toThrow('modifyIndex should be a number');
      expect(await mine.tryLock(`${key}-good`)).toMatchObject({ kind: 'acquired' });
    });

    test('leaves a row of another version unchanged', async () => {
      const item = { ...lockKey(key), v: 99, modifyIndex: 5, nonce: 'x' };
      await world.driver.attempt('put', { TableName: world.table, Item: item }, new AbortController().signal);

      await expect(mine.tryLock(key)).rejects.toThrow('another version of the rows');
      expect(await world.row(lockKey(key))).toEqual(item);
    });
  });
});
