/** A process whose clock is proven wrong opens no session: others would find it expired at once, or live for long after its end. */
import { beforeEach, describe, expect, test } from 'vitest';
import { ClockSkewError } from '../../../shared/core/errors.ts';
import type { Process, World } from '../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';
import { provedByNextAnswer } from '../../support/proven-skew.ts';

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

  test('opens no session, and says why', async () => {
    here.provenSkew.ms = SKEW_MS;

    const opening = here.leasehold.session({ ttl: '30s' });

    await expect(opening).rejects.toThrow(ClockSkewError);
    await expect(opening).rejects.toThrow(/differs from the store's by 3600000 ms, .*opening no session/);
    expect(await sessions()).toEqual([]);
  });

  test('ends a session again if the response to its creation proves the clock wrong', async () => {
    provedByNextAnswer(here, SKEW_MS);

    await expect(here.leasehold.session({ ttl: '30s' })).rejects.toThrow(ClockSkewError);

    expect(await sessions()).toEqual([]);
  });

  test('is measured again before it counts as still wrong', async () => {
    here.provenSkew.ms = SKEW_MS;
    provedByNextAnswer(here, 0);

    expect((await here.leasehold.session({ ttl: '30s' })).remainingTrustMs()).toBeGreaterThan(0);
  });

  test('does not affect work under an existing session', async () => {
    const session = await here.leasehold.session({ ttl: '30s' });
    const lock = await session.lock('k');
    here.provenSkew.ms = SKEW_MS;

    await passTime(world, world.clock.sleep(60_000));

    expect(lock.signal.aborted).toBe(false);
    expect(await lock.release()).toBe(true);
  });
});
