/** An acquire or a release whose answer is lost holds no other key, takes nothing late, and ends no tenure that came after it. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Session } from '../../../../shared/client/session.ts';
import type { Process, World } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';
import { LossyNetwork } from '../../../support/lossy-network.ts';

const KEY = 'job';
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
    network = new LossyNetwork(here, /"lock#/);
    mine = await here.leasehold.session({ ttl: '30s' });
    theirs = await there.leasehold.session({ ttl: '30s' });
  });

  /** The work ends without knowing; later requests meet no accident. */
  async function unknown(fate: LossyNetwork['fate'], work: () => Promise<unknown>): Promise<void> {
    network.fate = fate;
    await expect(passTime(world, work())).rejects.toMatchObject(IS_UNKNOWN);
    network.fate = 'none';
  }

  const verbs: [string, (session: Session) => Promise<unknown>][] = [
    ['tryLock', (session) => session.tryLock(KEY)],
    ['lock', (session) => session.lock(KEY, { wait: '5s' })],
    ['tryLockAll', (session) => session.tryLockAll([KEY, 'other'])],
    ['lockAll', (session) => session.lockAll([KEY, 'other'], { wait: '5s' })],
  ];

  test('of one release leaves no other lock of several held', async () => {
    const locks = await mine.lockAll([KEY, 'other', 'third']);
    new LossyNetwork(here, new RegExp(`"lock#${KEY}"`)).fate = 'loseAnswer';
    await expect(passTime(world, locks.release())).rejects.toMatchObject(IS_UNKNOWN);

    for (const key of ['other', 'third']) expect(await theirs.tryLock(key)).toMatchObject({ kind: 'acquired' });
  });

  test('to a caller who wants several, of a key that its session holds, leaves the others free', async () => {
    await mine.lock(KEY);
    new LossyNetwork(here, /^(?!.*TransactItems).*"lock#job"/).fate = 'loseAnswer';
    const several = mine.tryLockAll([KEY, 'other', 'third'], { reentrant: true, value: 'v' });
    await expect(passTime(world, several)).rejects.toMatchObject(IS_UNKNOWN);

    for (const key of ['other', 'third']) expect(await theirs.tryLock(key)).toMatchObject({ kind: 'acquired' });
  });

  test.each(verbs)('refuses a %s that arrives after it was settled', async (_verb, acquire) => {
    await unknown('late', () => acquire(mine));
    await world.clock.advance(20_000);

    expect(await network.deliver()).toBe(0);
    expect(await theirs.tryLock(KEY)).toMatchObject({ kind: 'acquired' });
  });

  test('does not end the tenure of a caller of the same session that came after it', async () => {
    await unknown('loseAnswer', () => mine.tryLock(KEY));
    const later = await mine.lock(KEY);
    await world.clock.advance(60_000);

    await expect(later.update('mine')).resolves.toBeUndefined();
    expect((await there.leasehold.locks.get(KEY))?.leaseCounter).toBe(later.fencingToken);
  });

  test('costs nothing once it is settled', async () => {
    const quiet = await here.leasehold.session({ ttl: null, heartbeat: '1d' });
    await mine.end();
    await unknown('loseAnswer', () => quiet.tryLock(KEY));
    const settling = await here.cost(() => world.clock.advance(20_000));
    const after = await here.cost(() => world.clock.advance(60_000));

    expect(settling.verbs).toEqual({ 'lock.get': 1, 'lock.disown': 1 });
    expect(after.requests).toBe(0);
  });
});
