/** Sessions known by their id, their locks, and prefixes: the operations that gateways need. */
import { beforeEach, describe, expect, test } from 'vitest';
import { lockKey, sessionKey } from '../../../shared/dynamo/engine/keys.ts';
import type { LiveSession } from '../../../shared/session/session-record.ts';
import type { Process, World } from '../../../test/support/coordination.ts';
import { describeInEveryWorld } from '../../../test/support/every-world.ts';
import { loseNextAnswer } from '../../../test/support/lost-answer.ts';
import { LOCK_DELAY_MS, SKEW_MS, TTL_MS, openLockWorld } from '../../../test/support/locks.ts';
import type { Remote } from '../../remote/remote.ts';
import { entryOf } from '../../remote/entry.ts';
import { remoteOf } from '../remote-of.ts';

describeInEveryWorld('remote sessions and their locks', (open) => {
  let world: World;
  let one: Process;
  let other: Process;
  let key: string;

  beforeEach(async () => {
    ({ world, one, other, key } = await openLockWorld(open()));
  });

  const create = (settings: Partial<Parameters<Remote['sessions']['create']>[0]> = {}) =>
    remoteOf(one).sessions.create({
      name: '',
      node: 'n',
      ttlMs: TTL_MS,
      lockDelayMs: LOCK_DELAY_MS,
      behaviour: 'release',
      checks: [],
      ...settings,
    });
  const renew = (session: LiveSession, process = one) => remoteOf(process).sessions.renew(session.id);
  const run = async (verb: 'acquire' | 'release', id: string, value: string, process = one) => {
    const operation = { verb, key, session: id, content: { bytes: Buffer.from(value), flags: 0n } };
    const outcome = await remoteOf(process).transactions.run([operation]);
    return outcome.kind === 'refused' ? outcome.failures[0]?.failure.kind : outcome.kind;
  };
  const acquire = (session: LiveSession, value = 'v', process = one) => run('acquire', session.id, value, process);
  const release = (session: LiveSession, value = 'left') => run('release', session.id, value);
  const counter = async () => (await other.leasehold.locks.get(key))?.leaseCounter ?? NaN;
  const entry = async () => entryOf((await other.leasehold.locks.get(key))!);

  describe('a renewal', () => {
    test('is one write through any process, and counts from its receipt', async () => {
      const session = await create();
      world.clock.step(TTL_MS - 1_000);

      const cost = await other.cost(() => renew(session, other));

      expect(cost).toMatchObject({ requests: 1, verbs: { 'session.renewRemote': 1 } });
      const row = await world.row(sessionKey(session.id));
      expect(row).toMatchObject({ expiresAt: world.clock.now() + TTL_MS, renewals: 1 });
    });

    test('through a process whose clock is behind takes nothing back', async () => {
      const session = await create();
      world.clock.step(5_000);
      await renew(session);
      other.clockError.ms = -800;

      expect(await renew(session, other)).toMatchObject({ kind: 'renewed' });

      expect(await world.row(sessionKey(session.id))).toMatchObject({ expiresAt: world.clock.now() + TTL_MS });
    });

    test('through a process whose clock is ahead is accepted as long as the TTL has not passed', async () => {
      const session = await create();
      world.clock.step(TTL_MS - 100);
      other.clockError.ms = SKEW_MS;

      expect(await renew(session, other)).toMatchObject({ kind: 'renewed' });
    });

    test('after the TTL and the bound ends what it finds', async () => {
      const session = await create();
      world.clock.step(TTL_MS + SKEW_MS);

      expect(await renew(session)).toEqual({ kind: 'gone' });
      expect(await world.row(sessionKey(session.id))).toMatchObject({ status: 'invalid', reason: 'expired' });
      expect(await renew(session)).toEqual({ kind: 'gone' });
    });

    test('changes nothing for a session without TTL, which never ends', async () => {
      const session = await create({ ttlMs: null });
      world.clock.step(TTL_MS * 1_000);

      expect(await renew(session)).toMatchObject({ kind: 'renewed' });
      expect(await remoteOf(other).sessions.live(session.id)).toMatchObject({ expiresAt: null });
    });

    test('ends a session whose check has failed', async () => {
      await remoteOf(one).health.register('n', 'disk');
      const session = await create({ checks: ['disk'] });
      expect(await renew(session)).toMatchObject({ kind: 'renewed' });
      await remoteOf(one).health.register('n', 'disk', { status: 'critical' });

      expect(await renew(session)).toEqual({ kind: 'gone' });
    });

    test('recognizes an unanswered renewal', async () => {
      const session = await create();
      one.driver.accidents.push('dropResponse');

      expect(await renew(session)).toMatchObject({ kind: 'renewed' });
      expect(await world.row(sessionKey(session.id))).toMatchObject({ renewals: 1 });
    });

    test('is not for sessions that have a holder', async () => {
      const native = await one.leasehold.session({ ttl: TTL_MS });

      expect(await remoteOf(other).sessions.renew(native.id)).toEqual({ kind: 'notRemote' });
      expect(await world.row(sessionKey(native.id))).toMatchObject({ renewals: 0 });
      expect(await remoteOf(other).sessions.renew('unheard-of')).toEqual({ kind: 'gone' });
    });
  });

  describe('an acquire', () => {
    test('reports the holder of the key', async () => {
      const [mine, theirs] = [await create(), await create()];
      await acquire(mine);

      expect(await acquire(theirs, 'v', other)).toBe('held');
      expect((await entry()).session).toBe(mine.id);
    });

    test('again keeps the counter, writes nothing that is stored already, and replaces what is not', async () => {
      const session = await create();
      await acquire(session, 'a');
      const first = await counter();
      const same = await one.cost(() => acquire(session, 'a'));
      const second = await acquire(session, 'b');

      expect(same.writeUnits).toBe(0);
      expect(second).toBe('done');
      expect(await counter()).toBe(first);
      expect(await entry()).toMatchObject({ bytes: Buffer.from('b'), lockIndex: 1 });
    });

    test('is refused for an ended session, before and during the attempt', async () => {
      const session = await create();
      await other.leasehold.sessions.destroy(session.id);

      expect(await acquire(session)).toBe('sessionGone');
      expect(await world.row(lockKey(key))).toBeUndefined();
    });

    test('waits out the lock-delay of a session that was lost, by TTL alone', async () => {
      const lost = await create();
      await acquire(lost);
      world.clock.step(TTL_MS + SKEW_MS);
      const next = await create();

      expect(await acquire(next, 'v', other)).toBe('delayed');
      world.clock.step(LOCK_DELAY_MS + SKEW_MS);
      expect(await acquire(next, 'v', other)).toBe('done');
      expect(await entry()).toMatchObject({ lockIndex: 2 });
    });

    test('takes over at once what was released, and its counter grows', async () => {
      const [mine, theirs] = [await create(), await create()];
      await acquire(mine);
      const first = await counter();
      expect(await release(mine)).toBe('done');
      expect(await release(mine)).toBe('notHeld');

      await acquire(theirs, 'w', other);

      expect(await counter()).toBe(first + 1);
      expect(await release(mine)).toBe('notHeld');
    });
  });

  describe('a lost response', () => {
    test('recognizes an unanswered release, even if another holds the key by then', async () => {
      const [mine, theirs] = [await create({ lockDelayMs: 0 }), await create()];
      await acquire(mine);
      loseNextAnswer(one.driver, async () => {
        expect(await acquire(theirs, 'v', other)).toBe('done');
      });

      expect(await release(mine)).toBe('done');
      expect(await release(mine)).toBe('notHeld');
    });

    test('does not undo a later put after an unanswered acquire with a value', async () => {
      const session = await create();
      await acquire(session, 'a');
      loseNextAnswer(one.driver, () => other.leasehold.locks.put(key, 'theirs', { evenIfHeld: true }));

      await expect(acquire(session, 'b')).rejects.toMatchObject({ applied: 'unknown' });
      expect(await other.leasehold.locks.get(key)).toMatchObject({ value: 'theirs', holder: { session: session.id } });
    });
  });
});
