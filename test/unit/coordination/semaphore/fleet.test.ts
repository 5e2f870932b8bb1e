/** The permits of a queue's workers, dealt over parts of ten. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Session } from '../../../../shared/client/session.ts';
import { MismatchError } from '../../../../shared/core/errors.ts';
import type { Process } from '../../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../../support/coordination.ts';

const NAME = 'workers/q';
let world: ReturnType<typeof simulatedWorld>;
let here: Process;

beforeEach(() => {
  world = simulatedWorld();
  here = world.start();
});

/** What each part says, by its number: permits held, and free. */
function parts(): readonly string[] {
  return world
    .rows()
    .filter(({ pk }) => pk === 'permits#q')
    .map(
      ({ sk, holders, free }) =>
        `${String(sk).split('#')[1] ?? '0'}: ${Object.keys(holders as object).length}+${String(free)}`,
    )
    .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10));
}

async function begin(count: number, limit: number): Promise<readonly Session[]> {
  const sessions = await Promise.all(Array.from({ length: count }, () => here.leasehold.session({ ttl: '30s' })));
  for (const session of sessions) expect((await session.tryPermit(NAME, { limit })).kind).toBe('acquired');
  return sessions;
}

describe('the permits of 25 workers', () => {
  beforeEach(() => here.leasehold.semaphores.declareLimit(NAME, 25));

  test('are dealt over three parts, which are listed and read as one semaphore', async () => {
    expect(parts()).toEqual(['0: 0+10', '1: 0+10', '2: 0+5']);
    await begin(25, 25);

    expect(parts()).toEqual(['0: 10+0', '1: 10+0', '2: 5+0']);
    expect(await Array.fromAsync(here.leasehold.semaphores.list())).toEqual([NAME]);
    expect(await here.leasehold.semaphores.get(NAME)).toMatchObject({ limit: 25, declared: 25, inUse: 25, live: 25 });
  });

  test('go to no 26th worker until one of them ends', async () => {
    const [first] = await begin(25, 25);
    const late = await here.leasehold.session();

    expect(await late.tryPermit(NAME, { limit: 25 })).toMatchObject({ kind: 'full', inUse: 25, limit: 25 });
    await first?.end();

    expect((await passTime(world, late.tryPermit(NAME, { limit: 25 }))).kind).toBe('acquired');
  });

  test('are all different, so that an operator names a permit by its token', async () => {
    await begin(25, 25);
    const { holders = [] } = (await here.leasehold.semaphores.get(NAME)) ?? {};
    const [holder] = holders.slice(-1);

    expect(new Set(holders.map(({ token }) => token)).size).toBe(25);
    const taken = await here.leasehold.semaphores.evict(NAME, {
      token: holder?.token ?? 0,
      by: 'ann',
      reason: 'stuck',
    });

    expect(taken?.session).toBe(holder?.session);
  });

  test.each([
    [7, ['0: 10+-3', '1: 10+-10', '2: 5+-5']],
    [12, ['0: 10+0', '1: 10+-8', '2: 5+-5']],
    [40, ['0: 10+0', '1: 10+0', '2: 5+5', '3: 0+10']],
  ])('are dealt anew for %s workers, and revoke nothing', async (limit, dealt) => {
    await begin(25, 25);
    await here.leasehold.semaphores.declareLimit(NAME, limit);
    const late = await here.leasehold.session();

    expect(parts()).toEqual(dealt);
    await expect(late.tryPermit(NAME, { limit: 25 })).rejects.toThrow(MismatchError);
    expect((await late.tryPermit(NAME, { limit })).kind).toBe(limit > 25 ? 'acquired' : 'full');
  });

  test('follow the limit that an operator has set, also for a new number of workers', async () => {
    await here.leasehold.semaphores.setLimit(NAME, 12);
    await here.leasehold.semaphores.declareLimit(NAME, 40);
    await begin(12, 40);
    const late = await here.leasehold.session();

    expect(await late.tryPermit(NAME, { limit: 40 })).toMatchObject({ kind: 'full', limit: 12 });
    await here.leasehold.semaphores.setLimit(NAME, 'declared');
    await here.leasehold.semaphores.declareLimit(NAME, 40);

    expect((await here.leasehold.semaphores.get(NAME))?.limit).toBe(40);
    expect(parts()).toHaveLength(4);
  });
});

test('a change that stopped in the middle is completed by the next one', async () => {
  await here.leasehold.semaphores.declareLimit(NAME, 25);
  await here.leasehold.semaphores.declareLimit('workers.1/q', 7);
  await here.leasehold.semaphores.declareLimit(NAME, 25);

  expect(parts()).toEqual(['0: 0+10', '1: 0+10', '2: 0+5']);
});

test('a worker waits for nobody who deals permits: without any, it is refused', async () => {
  const session = await here.leasehold.session();

  await expect(session.tryPermit(NAME, { limit: 25 })).rejects.toThrow('has no permits yet');
});
