/** A process whose clock is proven wrong opens no session: others would find it expired at once, or live for long after its end. */
import { beforeEach, describe, expect, test } from 'vitest';
import { ClockSkewError } from '../../../shared/core/errors.ts';
import type { Process, World } from '../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';

const SKEW_MS = 3_600_000;

describe('a clock that is proven wrong', () => {
  let world: World;
  let here: Process;

  beforeEach(() => {
    world = simulatedWorld();
    here = world.start();
  });

  /** The next answer shows how wrong the clock is, as the header of a response does. */
  function provedByNextAnswer(skewMs: number): void {
    const attempt = here.driver.attempt.bind(here.driver);
    here.driver.attempt = async (kind, input, signal) => {
      here.driver.attempt = attempt;
      const output = await attempt(kind, input, signal);
      here.provenSkew.ms = skewMs;
      return output;
    };
  }

  const sessions = async (): Promise<readonly string[]> => {
    const found = await Array.fromAsync(world.start().leasehold.sessions.list());
    return found.map(({ status }) => status);
  };

  test('opens no session, and says why', async () => {
    here.provenSkew.ms = SKEW_MS;

    const opening = here.leasehold.session({ ttl: '30s' });

    await expect(opening).rejects.toThrow(ClockSkewError);
    await expect(opening).rejects.toThrow(/differs from the store's by 3600000 ms, .*opening no session/);
    expect(await sessions()).toEqual([]);
  });

  test('by the very answer to its opening ends the session again', async () => {
    provedByNextAnswer(SKEW_MS);

    await expect(here.leasehold.session({ ttl: '30s' })).rejects.toThrow(ClockSkewError);

    expect(await sessions()).toEqual([]);
  });

  test('is measured again before it is believed to be wrong still', async () => {
    here.provenSkew.ms = SKEW_MS;
    provedByNextAnswer(0);

    expect((await here.leasehold.session({ ttl: '30s' })).remainingTrustMs()).toBeGreaterThan(0);
  });

  test('leaves alone what runs under a session from before', async () => {
    const session = await here.leasehold.session({ ttl: '30s' });
    const lock = await session.lock('k');
    here.provenSkew.ms = SKEW_MS;

    await passTime(world, world.clock.sleep(60_000));

    expect(lock.signal.aborted).toBe(false);
    expect(await lock.release()).toBe(true);
  });

  describe('and remote sessions', () => {
    const settings = { name: 'r', node: 'n', behaviour: 'release' as const, ttlMs: 30_000, lockDelayMs: 0, checks: [] };

    test('opens none', async () => {
      provedByNextAnswer(SKEW_MS);
      await expect(here.remote.sessions.create(settings)).rejects.toThrow(ClockSkewError);
      await expect(here.remote.sessions.create(settings)).rejects.toThrow(ClockSkewError);

      expect(await sessions()).toEqual([]);
    });

    test.each([
      ['behind', -SKEW_MS],
      ['ahead', SKEW_MS],
    ])('renews none while it is %s, for others would misjudge its expiry', async (_where, errorMs) => {
      const sound = world.start();
      const session = await sound.remote.sessions.create(settings);
      here.clockError.ms = errorMs;
      here.provenSkew.ms = SKEW_MS;

      const renewal = here.remote.sessions.renew(session.id);

      await expect(renewal).rejects.toThrow(ClockSkewError);
      await expect(renewal).rejects.toThrow(/renewing no session/);
      await world.clock.advance(settings.ttlMs / 2);
      expect(await sound.remote.sessions.live(session.id)).toMatchObject({ expiresAt: session.expiresAt });
      expect(await sound.remote.sessions.renew(session.id)).toMatchObject({ kind: 'renewed' });
    });

    test('does not call renewed what it wrote when the answer proves the clock wrong', async () => {
      const session = await world.start().remote.sessions.create(settings);
      provedByNextAnswer(SKEW_MS);

      await expect(here.remote.sessions.renew(session.id)).rejects.toThrow(ClockSkewError);
    });

    test('is measured again before a renewal is refused', async () => {
      const session = await here.remote.sessions.create(settings);
      here.provenSkew.ms = SKEW_MS;
      provedByNextAnswer(0);

      expect(await here.remote.sessions.renew(session.id)).toMatchObject({ kind: 'renewed' });
    });
  });
});
