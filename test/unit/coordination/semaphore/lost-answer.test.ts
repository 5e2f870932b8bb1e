/** A permit that no code knows, because an answer was lost: its capacity is free again soon, and nothing else of the session is touched. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Session } from '../../../../shared/client/session.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';
import { LossyNetwork } from '../../../support/lossy-network.ts';

const NAME = 'vendor';
const LIMIT = { limit: 1 } as const;
const IS_UNKNOWN = { name: 'StoreUnavailableError', applied: 'unknown' };

describe('a lost answer', () => {
  let world: World;
  let here: Process;
  let there: Process;
  let network: LossyNetwork;
  let mine: Session;
  let theirs: Session;

  beforeEach(async () => {
    world = simulatedWorld();
    here = world.start();
    there = world.start();
    network = new LossyNetwork(here, /"semaphore#/);
    mine = await here.leasehold.session({ ttl: '30s' });
    theirs = await there.leasehold.session({ ttl: '30s' });
    await (await theirs.permit(NAME, LIMIT)).release();
  });

  /** The work ends without knowing; later requests meet no accident. */
  async function unknown(fate: LossyNetwork['fate'], work: () => Promise<unknown>): Promise<void> {
    network.fate = fate;
    await expect(passTime(world, work())).rejects.toMatchObject(IS_UNKNOWN);
    network.fate = 'none';
  }

  test('costs the capacity two heartbeats after the semaphore answers again, even after a long time', async () => {
    network.fate = 'loseAnswer';
    await expect(passTime(world, mine.tryPermit(NAME, LIMIT))).rejects.toMatchObject(IS_UNKNOWN);
    network.fate = 'late';
    await world.clock.advance(20 * 60_000);
    network.fate = 'none';

    await expect(passTime(world, theirs.permit(NAME, { ...LIMIT, wait: '20s' }))).resolves.toBeDefined();
    expect(await network.deliver()).toBe(0);
  });

  test('does not affect other permits and waits of the session', async () => {
    await unknown('loseAnswer', () => mine.tryPermit(NAME, LIMIT));
    const held = await mine.permit(NAME, LIMIT);
    const waiting = mine.permit(NAME, { ...LIMIT, fair: true, wait: '1h' });
    await world.clock.advance(120_000);

    expect(await held.check()).toBe(true);
    expect((await there.leasehold.semaphores.get(NAME))?.waiting).toHaveLength(1);
    await held.release();
    await expect(passTime(world, waiting)).resolves.toBeDefined();
  });
});
