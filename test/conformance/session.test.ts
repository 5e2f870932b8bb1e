import { NumberValue } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from 'vitest';
import { sessionKey } from '../../shared/dynamo/engine/keys.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createSessionStore } from '../../shared/session/row/dynamo-session-store.ts';
import { LeaseLostError } from '../../shared/core/errors.ts';
import type { Process, World } from '../support/coordination.ts';
import { passTime } from '../support/coordination.ts';
import { describeInEveryWorld } from '../support/every-world.ts';
import { until } from '../support/until.ts';
import { whenAborted } from '../support/when-aborted.ts';

describeInEveryWorld('sessions', (open) => {
  let world: World;
  let one: Process;
  let other: Process;
  let count = 0;
  let name: string;

  beforeEach(() => {
    world = open();
    one = world.start();
    other = world.start();
    name = `session-${++count}`;
  });

  describe('a session', () => {
    test('carries what it was opened with, and shows it to everybody', async () => {
      const session = await one.leasehold.session({
        name,
        node: 'web-1',
        ttl: '20s',
        lockDelay: '5s',
        behavior: 'delete',
      });

      expect(await other.leasehold.sessions.get(session.id)).toMatchObject({
        id: session.id,
        name,
        node: 'web-1',
        ttlMs: 20_000,
        lockDelayMs: 5_000,
        behaviour: 'delete',
        status: 'live',
        createdAt: world.clock.now(),
        expiresAt: world.clock.now() + 20_000,
        renewals: 0,
      });
    });

    test('costs one request and one write unit per renewal, for any number of leases', async () => {
      const session = await one.leasehold.session({ name, ttl: '30s', heartbeat: '10s' });
      for (const key of ['a', 'b', 'c']) await session.lock(`${name}-${key}`);

      const cost = await one.cost(async () => {
        await passTime(
          world,
          until(() => session.record.renewals === 1),
        );
      });

      expect(cost.verbs).toEqual({ 'session.renew': 1 });
      expect(cost.writeUnits).toBe(1);
    });

    test('is lost to its holder before another may end it', async () => {
      const session = await one.leasehold.session({ name, ttl: '30s' });
      one.driver.isDown = true;

      await passTime(world, whenAborted(session.signal), 500);

      expect(session.signal.reason).toBeInstanceOf(LeaseLostError);
      expect(await other.leasehold.sessions.get(session.id)).toMatchObject({ status: 'live' });
      expect(world.clock.now()).toBeLessThan((session.record.expiresAt ?? 0) + 1_000);
    });

    test('refuses to end a session whose row has no expiry', async () => {
      const session = await one.leasehold.session({ name, ttl: null });
      const sessions = createSessionStore(new Sender({ driver: other.driver, runtime: other.runtime }), world.table);
      const observed = { ...session.record, ttlMs: 1, expiresAt: 1 };

      const now = world.clock.now();
      const outcome = await sessions.expire({ observed, expiredBefore: now, now, nonce: 'contender' });

      expect(outcome).toMatchObject({ kind: 'refused', current: { status: 'live' } });
    });

    test("reports a number beyond JavaScript's range as damage, and hides no other session", async () => {
      const damaged = await one.leasehold.session({ name, ttl: '30s' });
      const sound = await one.leasehold.session({ name, ttl: '30s' });
      await world.driver.attempt(
        'update',
        {
          TableName: world.table,
          Key: sessionKey(damaged.id),
          UpdateExpression: 'SET createdAt = :createdAt',
          ExpressionAttributeValues: { ':createdAt': NumberValue.from('9007199254740992.5') },
        },
        new AbortController().signal,
      );
      const sessions = createSessionStore(new Sender({ driver: other.driver, runtime: other.runtime }), world.table);
      const errors: unknown[] = [];

      const found = await sessions.getMany([damaged.id, sound.id], (_, error) => void errors.push(error));

      expect([...found.keys()]).toEqual([sound.id]);
      expect(errors).toMatchObject([{ name: 'CorruptItemError' }]);
      await expect(other.leasehold.sessions.get(damaged.id)).rejects.toMatchObject({ name: 'CorruptItemError' });
    });

    test('never renews a session without TTL, and learns of its destruction at a heartbeat', async () => {
      const session = await one.leasehold.session({ name, ttl: null, heartbeat: '20s' });
      const cost = await one.cost(() => passTime(world, world.clock.sleep(300_000), 1_000));

      expect(cost.verbs).toEqual({ 'session.get': cost.requests });
      expect(session.signal.aborted).toBe(false);
      expect(await other.leasehold.sessions.destroy(session.id)).toMatchObject({ kind: 'destroyed' });
      expect(await other.leasehold.sessions.get(session.id)).toMatchObject({ status: 'invalid', reason: 'destroyed' });
      await passTime(world, whenAborted(session.signal));
      expect(session.signal.reason).toMatchObject({ reason: 'invalidated' });
    });

    test.each(['30s', null] as const)(
      'shortens the revocation list of a session with TTL %s to its unread entries',
      async (ttl) => {
        const session = await one.leasehold.session({ name, ttl, heartbeat: '10s' });
        const force = async (key: string) => {
          const { leaseCounter } = await session.lock(key);
          await other.leasehold.locks.forceRelease(key, { by: 'operator', reason: 'stuck', leaseCounter });
        };
        for (const key of ['a', 'b', 'c']) await force(`${name}-${key}`);
        const revoked = async () => (await world.row(sessionKey(session.id)))?.revoked;
        expect(await revoked()).toHaveLength(3);

        await passTime(
          world,
          until(() => session.locks.length === 0),
        );
        await force(`${name}-d`);
        await passTime(
          world,
          until(() => session.locks.length === 0),
        );
        await passTime(world, world.clock.sleep(21_000));

        expect(await revoked()).toEqual([]);
        expect(session.signal.aborted).toBe(false);
      },
    );
  });

  describe('the listing', () => {
    test('lists live and expired sessions by name, without ended ones', async () => {
      const crashed = await one.leasehold.session({ name: `${name}-a`, ttl: '30s' });
      const living = await other.leasehold.session({ name: `${name}-b`, ttl: null });
      const ended = await other.leasehold.session({ name: `${name}-c`, ttl: null });
      const destroyed = await other.leasehold.session({ name: `${name}-d`, ttl: null });
      await ended.end();
      await other.leasehold.sessions.destroy(destroyed.id);
      one.driver.isDown = true;
      await passTime(world, other.leasehold.sessions.waitForEnd(crashed.id));

      const found = await Array.fromAsync(other.leasehold.sessions.list(`${name}-`));

      expect(found.map(({ id, status }) => [id, status])).toEqual([
        [crashed.id, 'invalid'],
        [living.id, 'live'],
      ]);
    });
  });

  describe('destroying', () => {
    test('opens its keys when the operator says', async () => {
      const session = await one.leasehold.session({ name, ttl: '30s', lockDelay: '15s' });
      const key = `${name}-key`;
      await session.lock(key);
      const next = await other.leasehold.session({ ttl: '30s' });
      await other.leasehold.sessions.destroy(session.id, { lockDelay: '2s' });

      expect(await passTime(world, next.tryLock(key))).toMatchObject({
        kind: 'delayed',
        until: world.clock.now() + 3_000,
      });
      expect(await passTime(world, next.lock(key, { wait: '4s' }))).toMatchObject({ key });
    });

    test('a session that has ended, or never was, changes nothing', async () => {
      const session = await one.leasehold.session({ name });
      await session.end();

      expect(await other.leasehold.sessions.destroy(session.id)).toMatchObject({
        kind: 'gone',
        session: { reason: 'ended' },
      });
      expect(await other.leasehold.sessions.destroy('nobody')).toEqual({ kind: 'gone', session: undefined });
      expect(await other.leasehold.sessions.get('nobody')).toBeUndefined();
    });
  });

  describe('a watcher', () => {
    test('learns of an end within a second', async () => {
      const session = await one.leasehold.session({ name, ttl: null });
      const watching = other.leasehold.sessions.waitForEnd(session.id);
      await world.clock.advance(5_000);
      const endedAt = world.clock.now();
      await session.end();

      expect(await passTime(world, watching)).toMatchObject({ reason: 'ended', invalidatedAt: endedAt });
    });

    test('ends a session that has expired', async () => {
      const session = await one.leasehold.session({ name, ttl: '10s' });
      one.driver.isDown = true;

      const ended = await passTime(world, other.leasehold.sessions.waitForEnd(session.id));

      expect(ended).toMatchObject({ reason: 'expired' });
      expect(ended?.invalidatedAt).toBeGreaterThanOrEqual((session.record.expiresAt ?? 0) + 1_000);
    });
  });

  describe('bad input', () => {
    test.each([
      ['a TTL below the least', { ttl: 299 }, 'ttl = 299: must be 300 ms to a day'],
      ['a TTL of more than a day', { ttl: '25h' as const }, 'ttl = 90000000'],
      ['a TTL that is no time', { ttl: 'soon' as never }, 'ttl = "soon"'],
      ['a lock-delay of more than a minute', { lockDelay: '61s' as const }, 'lockDelay = 61000 ms is above 60000'],
      ['a negative lock-delay', { lockDelay: -1 }, 'lockDelay = -1'],
      [
        'a heartbeat that leaves no room for a lost one',
        { ttl: '10s' as const, heartbeat: '4s' as const },
        'less than three times heartbeat = 4000 ms',
      ],
      ['an empty name', { name: '' }, 'session name is empty'],
      ['a behaviour that is none', { behavior: 'keep' as never }, 'behavior = "keep"'],
    ])('%s is refused, and nothing is sent', async (_what, settings, message) => {
      const cost = await one.cost(() => expect(one.leasehold.session(settings)).rejects.toThrow(message));

      expect(cost.requests).toBe(0);
    });
  });
});
