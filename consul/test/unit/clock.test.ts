/** A process whose clock is proven wrong opens no session: others would find it expired at once, or live for long after its end. */
import { beforeEach, describe, expect, test } from 'vitest';
import { ClockSkewError } from '../../../shared/core/errors.ts';
import type { Process, World } from '../../../test/support/coordination.ts';
import { simulatedWorld } from '../../../test/support/coordination.ts';
import { provedByNextAnswer } from '../../../test/support/proven-skew.ts';
import { remoteOf } from '../remote-of.ts';

const SKEW_MS = 3_600_000;

describe('a clock that is proven wrong', () => {
  let world: World;
  let here: Process;

  beforeEach(() => {
    world = simulatedWorld();
    here = world.start();
  });

  const sessions = async (): Promise<readonly string[]> => {
    const found = await Array.fromAsync(world.start().leasehold.sessions.list());
    return found.map(({ status }) => status);
  };

  describe('a wrong clock and remote sessions', () => {
    const settings = { name: 'r', node: 'n', behaviour: 'release' as const, ttlMs: 30_000, lockDelayMs: 0, checks: [] };

    test('opens none', async () => {
      provedByNextAnswer(here, SKEW_MS);
      await expect(remoteOf(here).sessions.create(settings)).rejects.toThrow(ClockSkewError);
      await expect(remoteOf(here).sessions.create(settings)).rejects.toThrow(ClockSkewError);

      expect(await sessions()).toEqual([]);
    });

    test.each([
      ['behind', -SKEW_MS],
      ['ahead', SKEW_MS],
    ])('renews none while it is %s, for others would misjudge its expiry', async (_where, errorMs) => {
      const sound = world.start();
      const session = await remoteOf(sound).sessions.create(settings);
      here.clockError.ms = errorMs;
      here.provenSkew.ms = SKEW_MS;

      const renewal = remoteOf(here).sessions.renew(session.id);

      await expect(renewal).rejects.toThrow(ClockSkewError);
      await expect(renewal).rejects.toThrow(/renewing no session/);
      await world.clock.advance(settings.ttlMs / 2);
      expect(await remoteOf(sound).sessions.live(session.id)).toMatchObject({ expiresAt: session.expiresAt });
      expect(await remoteOf(sound).sessions.renew(session.id)).toMatchObject({ kind: 'renewed' });
    });

    test('does not call renewed what it wrote when the answer proves the clock wrong', async () => {
      const session = await remoteOf(world.start()).sessions.create(settings);
      provedByNextAnswer(here, SKEW_MS);

      await expect(remoteOf(here).sessions.renew(session.id)).rejects.toThrow(ClockSkewError);
    });

    test('is measured again before a renewal is refused', async () => {
      const session = await remoteOf(here).sessions.create(settings);
      here.provenSkew.ms = SKEW_MS;
      provedByNextAnswer(here, 0);

      expect(await remoteOf(here).sessions.renew(session.id)).toMatchObject({ kind: 'renewed' });
    });
  });
});
