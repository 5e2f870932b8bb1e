/** Individual revocations of a session's rights: its holder learns of each, and its row keeps none. */
import { beforeEach, describe, expect, test } from 'vitest';
import { sessionKey } from '../../../shared/dynamo/engine/keys.ts';
import type { Session } from '../../../shared/client/session.ts';
import type { Process, World } from '../../support/coordination.ts';
import { simulatedWorld } from '../../support/coordination.ts';
import { loseNextAnswer } from '../../support/lost-answer.ts';

const HEARTBEAT_MS = 10_000;

describe('a forced release', () => {
  let world: World;
  let holder: Process;
  let operator: Process;

  beforeEach(() => {
    world = simulatedWorld();
    holder = world.start();
    operator = world.start();
  });

  async function force(key: string, leaseCounter: number): Promise<void> {
    const force = { by: 'operator', reason: 'stuck', lockDelay: 0, leaseCounter };
    expect(await operator.leasehold.locks.forceRelease(key, force)).toMatchObject({ kind: 'released' });
  }

  async function lockAndForce(session: Session, key: string) {
    const lock = await session.lock(key);
    await force(key, lock.fencingToken);
    return lock;
  }

  const revokedOf = async ({ id }: Session) => (await world.row(sessionKey(id)))?.revoked;

  test('a thousand of them leave a renewal at one unit, and each is learnt', async () => {
    const session = await holder.leasehold.session({ ttl: '30s' });
    const key = 'k'.repeat(400);

    for (let round = 0; round < 1_000 / 50; round++) {
      const locks = [];
      for (let n = 0; n < 50; n++) locks.push(await lockAndForce(session, `${key}-${round}-${n}`));
      await world.clock.advance(HEARTBEAT_MS);
      expect(locks.filter(({ signal }) => !signal.aborted)).toEqual([]);
    }
    await world.clock.advance(2 * HEARTBEAT_MS);

    // Jitter decides whether one heartbeat falls into this time or two.
    const { verbs, writeUnits } = await holder.cost(() => world.clock.advance(HEARTBEAT_MS));
    expect(Object.keys(verbs)).toEqual(['session.renew']);
    expect(writeUnits).toBe(verbs['session.renew']);
    expect(await revokedOf(session)).toEqual([]);
  });

  test('is reported if it comes between an unanswered renewal and the next attempt', async () => {
    const session = await holder.leasehold.session({ ttl: '30s' });
    await lockAndForce(session, 'first');
    const second = await session.lock('second');
    await world.clock.advance(HEARTBEAT_MS);
    loseNextAnswer(holder.driver, () => force('second', second.fencingToken));

    await world.clock.advance(HEARTBEAT_MS);
    await world.clock.advance(1_000);

    expect(second.signal.aborted).toBe(true);
    await world.clock.advance(HEARTBEAT_MS);
    expect(await revokedOf(session)).toEqual([]);
  });

  test('is reported to a lock whose acquire is answered after the row has dropped it', async () => {
    const session = await holder.leasehold.session({ ttl: '30s' });
    const { key, fencingToken } = await session.lock('earlier');
    expect(key).toBe('earlier');
    let wasForgotten = false;
    loseNextAnswer(holder.driver, async () => {
      const held = await operator.leasehold.locks.get('late');
      await force('late', held?.leaseCounter ?? fencingToken);
      await world.clock.advance(2 * HEARTBEAT_MS + 1_000);
      wasForgotten = ((await revokedOf(session)) as readonly string[]).length === 0;
    });

    const outcome = await session.tryLock('late').catch((error: unknown) => error);

    expect(wasForgotten).toBe(true);
    expect(session.locks.map((lock) => [lock.key, lock.signal.aborted])).toEqual([['earlier', false]]);
    expect(outcome).not.toMatchObject({ kind: 'acquired' });
  });
});
