/** Nothing stays behind a use that is over: no timer, no listener, no entry of a map. */
import { expect, test } from 'vitest';
import type { Session } from '../../../shared/client/session.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';
import { grown, ledgerOf } from '../../support/ledger.ts';

const NEVER = { wait: '1s' } as const;
type Use = (mine: Session, nth: number) => Promise<unknown>;

const USES: readonly [string, Use][] = [
  ['a lock', async (mine, nth) => (await mine.lock(`k${nth}`)).release()],
  ['a lock that is tried', async (mine, nth) => release(await mine.tryLock(`k${nth}`))],
  ['a lock that was waited for in vain', (mine, nth) => refused(mine.lock(`taken${nth % 3}`, NEVER))],
  ['several locks', async (mine, nth) => (await mine.lockAll([`k${nth}`, `l${nth}`])).release()],
  ['an election', async (mine, nth) => (await mine.campaign(`e${nth}`)).resign()],
  [
    'a crowd that waits in vain',
    (mine, nth) => Promise.all([1, 2, 3].map(() => refused(mine.lock(`taken${nth % 3}`, NEVER)))),
  ],
  [
    'a crowd that waits for each other',
    async (mine, nth) => {
      const permits = await Promise.all(
        [1, 2, 3].map(async () => {
          await (await mine.permit(`s${nth}`, { limit: 1, pause: '1s' })).release();
        }),
      );
      expect(permits).toHaveLength(3);
    },
  ],
  ['a permit', async (mine, nth) => (await mine.permit(`s${nth}`, { limit: 2 })).release()],
  [
    'a permit that was waited for in turn and in vain',
    (mine) => refused(mine.permit('full', { limit: 1, fair: true, ...NEVER })),
  ],
  [
    'a slot of a limiter',
    async (mine, nth) => {
      const limiter = mine.limiter(`n${nth}`, { limit: 1 });
      await limiter.done((await limiter.add())!);
    },
  ],
];

async function release(tried: {
  readonly kind: string;
  readonly lock?: { release(): Promise<unknown> };
}): Promise<void> {
  await tried.lock!.release();
}

async function refused(waiting: Promise<unknown>): Promise<void> {
  await expect(waiting).rejects.toThrow();
}

/** Collections with a bound of their own. */
const BOUNDED: Readonly<Record<string, number>> = { '.mine.sessionLocks.#left': 1_000 };

test.each(USES)('%s', async (_what, use) => {
  const world = simulatedWorld();
  const [here, there] = [world.start(), world.start()];
  const theirs = await there.leasehold.session({ ttl: '1h' });
  const mine = await here.leasehold.session({ ttl: '1h' });
  for (const key of ['taken0', 'taken1', 'taken2']) await theirs.lock(key);
  await theirs.permit('full', { limit: 1 });
  const kept = (): ReturnType<typeof ledgerOf> => ledgerOf({ mine, leasehold: here.leasehold, clock: world.clock });
  const times = async (from: number, to: number): Promise<void> => {
    for (let nth = from; nth < to; nth++) await passTime(world, use(mine, nth), 250);
  };

  await times(0, 5);
  const before = kept();
  await times(5, 15);

  const found = Object.entries(grown(before, kept()));
  expect(found.filter(([path, [, size]]) => !(size <= (BOUNDED[path] ?? 0)))).toEqual([]);
});
