import { beforeEach, expect, test } from 'vitest';
import type { Session } from '../../shared/client/session.ts';
import type { Process } from '../support/coordination.ts';
import { describeInEveryWorld } from '../support/every-world.ts';
import { acquireNow, openLockWorld } from '../support/locks.ts';

describeInEveryWorld('a lock with `listed: false`', (open) => {
  let one: Process;
  let other: Process;
  let mine: Session;
  let key: string;

  beforeEach(async () => {
    ({ one, other, mine, key } = await openLockWorld(open()));
  });

  test('costs two requests and two write units for acquire and release of a new key', async () => {
    const cost = await one.cost(async () => (await acquireNow(mine, key, { listed: false })).release());

    expect(cost.verbs).toEqual({ 'lock.acquire': 1, 'lock.release': 1 });
    expect(cost).toMatchObject({ requests: 2, writeUnits: 2, readUnits: 0 });
    expect(await Array.fromAsync(other.leasehold.locks.list(key))).toEqual([]);
    expect(await other.leasehold.locks.get(key)).toMatchObject({ key });
  });

  test('keeps several keys out of the listing', async () => {
    const keys = [`${key}/a`, `${key}/b`];
    await mine.lockAll(keys, { listed: false });

    expect(await Array.fromAsync(other.leasehold.locks.list(key))).toEqual([]);
    expect(await other.leasehold.locks.get(keys[1]!)).toMatchObject({ holder: { session: mine.id } });
  });

  test('leaves the entry of a key that is listed already', async () => {
    await (await acquireNow(mine, key)).release();
    await acquireNow(mine, key, { listed: false });

    expect(await Array.fromAsync(other.leasehold.locks.list(key))).toMatchObject([{ key }]);
  });
});
