import { beforeEach, describe, expect, test } from 'vitest';
import { lockKey } from '../../shared/dynamo/engine/keys.ts';
import { ConfigurationError, StoreUnavailableError } from '../../shared/core/errors.ts';
import type { Lock } from '../../shared/coordination/lock/lock.ts';
import type { Session } from '../../shared/client/session.ts';
import type { Process, World } from '../support/coordination.ts';
import { passTime } from '../support/coordination.ts';
import { describeInEveryWorld } from '../support/every-world.ts';
import { whenAborted } from '../support/when-aborted.ts';
import { loseNextAnswer } from '../support/lost-answer.ts';
import { SKEW_MS, TTL, TTL_MS, acquireNow, openLockWorld } from '../support/locks.ts';

describeInEveryWorld('locks, when writes go wrong,', (open) => {
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

  describe('a lost response, before others have written,', () => {
    const isUnknown = { name: 'StoreUnavailableError', applied: 'unknown' };
    /** Other writers' changes before the sender retries: our response must neither hide nor undo them. */
    const afterwards = async (write: () => Promise<unknown>): Promise<void> => {
      loseNextAnswer(one.driver, async () => {
        expect(await other.leasehold.locks.put(key, 'theirs')).toMatchObject({ kind: 'written' });
      });
      await expect(write()).rejects.toMatchObject(isUnknown);
      expect(await other.leasehold.locks.get(key)).toMatchObject({ value: 'theirs' });
    };

    test('does not report a conflict for an unanswered check-and-set', async () => {
      await afterwards(() => one.leasehold.locks.put(key, 'mine', { ifIndex: 0 }));
    });

    test('does not undo other writes when a put is resent', async () => {
      await afterwards(() => one.leasehold.locks.put(key, 'mine'));
    });

    test('does not delete other writes when a deletion is resent', async () => {
      await one.leasehold.locks.put(key, 'old');
      await afterwards(() => one.leasehold.locks.delete(key));
    });

    test('is not assumed if every attempt was answered', async () => {
      await one.leasehold.locks.put(key, 'old');
      const { locks } = other.leasehold;
      one.driver.accidents.push('throttle');
      const attempt = one.driver.attempt.bind(one.driver);
      one.driver.attempt = async (kind, input, signal) => {
        if (kind === 'update') {
          one.driver.attempt = attempt;
          await locks.put(key, 'theirs');
        }
        return attempt(kind, input, signal);
      };

      expect(await one.leasehold.locks.put(key, 'mine')).toMatchObject({ kind: 'written', info: { value: 'mine' } });
    });
  });

  describe('a write that arrives late', () => {
    /** Keeps what this process sends, to send it once more later. */
    function recordUpdates(process: Process): Parameters<Process['driver']['attempt']>[1][] {
      const sent: Parameters<Process['driver']['attempt']>[1][] = [];
      const attempt = process.driver.attempt.bind(process.driver);
      process.driver.attempt = (kind, input, signal) => {
        if (kind === 'update') sent.push(input);
        return attempt(kind, input, signal);
      };
      return sent;
    }
    const deliver = (input: unknown) => world.driver.attempt('update', input as never, new AbortController().signal);

    test('refuses a late, once refused acquire of a free key, even if the releasing clock was far behind', async () => {
      const lock = await acquired(theirs);
      const sent = recordUpdates(one);
      await mine.tryLock(key);
      world.clock.step(-SKEW_MS);
      await lock.release();

      await expect(deliver(sent[0])).rejects.toMatchObject({ kind: 'conditionFailed' });
      world.clock.step(2 * SKEW_MS + 1);
      expect(await (await renewed()).tryLock(key)).toMatchObject({ kind: 'acquired' });
    });

    test('refuses a late release of the previous tenure of the same session', async () => {
      const sent = recordUpdates(one);
      await (await acquired(mine)).release();
      const lock = await acquired(mine);

      await expect(deliver(sent[1])).rejects.toMatchObject({ kind: 'conditionFailed' });
      expect(await one.leasehold.verify(lock.sequencer)).toMatchObject({ kind: 'valid' });
    });

    test('starts a new tenure when a session acquires a key that it holds unknowingly', async () => {
      one.driver.accidents.push('dropResponse');
      one.driver.isDown = true;
      await expect(passTime(world, mine.tryLock(key), 1_000)).rejects.toThrow(StoreUnavailableError);
      one.driver.isDown = false;
      const unknown = await world.row(lockKey(key));

      const lock = await acquired(mine);

      expect(unknown).toMatchObject({ session: mine.id });
      expect(lock.fencingToken).toBe(Number(unknown?.leaseCounter) + 1);
    });
  });

  describe('a release by force', () => {
    const force = (leaseCounter: number) =>
      other.leasehold.locks.forceRelease(key, { by: 'ann', reason: 'stuck since lunch', leaseCounter });

    test('fences the holder at once, closes the key while the holder may trust it, and says who did it and why', async () => {
      const lock = await acquired(mine);

      const result = await force(lock.leaseCounter);

      const now = world.clock.now();
      const trustedUntil = now + TTL_MS;
      expect(result).toEqual({ kind: 'released', closedUntil: trustedUntil + SKEW_MS, trustedUntil });
      expect(await other.leasehold.verify(lock.sequencer)).toEqual({
        kind: 'superseded',
        leaseCounter: lock.leaseCounter + 1,
      });
      expect(await theirs.tryLock(key)).toMatchObject({ kind: 'delayed' });
      expect(await one.leasehold.locks.get(key)).toMatchObject({
        leaseCounter: lock.leaseCounter + 1,
        lastForced: {
          by: 'ann',
          reason: 'stuck since lunch',
          at: now,
          session: mine.id,
          leaseCounter: lock.leaseCounter,
        },
      });
    });

    test('reaches the holder with its next heartbeat, and leaves the session and its other locks alone', async () => {
      const lock = await acquired(mine);
      const another = await acquired(mine, `${key}-another`);
      await force(lock.leaseCounter);

      await passTime(world, whenAborted(lock.signal));

      expect(lock.signal.aborted).toBe(true);
      expect(another.signal.aborted).toBe(false);
      expect(mine.signal.aborted).toBe(false);
    });

    test('does not end a tenure other than the observed one', async () => {
      const lock = await acquired(mine);
      await lock.release();
      const next = await acquired(theirs);

      expect(await force(lock.leaseCounter)).toMatchObject({
        kind: 'superseded',
        current: { leaseCounter: next.leaseCounter },
      });
      expect(next.signal.aborted).toBe(false);
    });

    test('requires a name and a reason', async () => {
      const options = { by: '', reason: 'x', leaseCounter: 1 };

      await expect(one.leasehold.locks.forceRelease(key, options)).rejects.toThrow(ConfigurationError);
    });
  });
});
