/** A use that is over leaves no timer, no listener and no map entry. */
import { expect, test } from 'vitest';
import type { Leasehold } from '../../../shared/client/leasehold.ts';
import type { Session } from '../../../shared/client/session.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';
import { grown, ledgerOf } from '../../support/ledger.ts';

const NEVER = { wait: '1s' } as const;
/** The caller's signal outlives all uses, like the signal of a server. */
type Use = (mine: Session, nth: number, here: Leasehold, signal: AbortSignal) => Promise<unknown>;

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
  ['a lock with a signal', async (mine, nth, _here, signal) => (await mine.lock(`k${nth}`, { signal })).release()],
  [
    'a slot in which work runs',
    (mine, nth, _here, signal) => mine.limiter(`n${nth}`, { limit: 1 }).run(work, { signal }),
  ],
  [
    'tokens of a rate limit',
    (_mine, _nth, here, signal) => here.rateLimiter('r', { rate: 1, per: '1s' }).take('k', { signal }),
  ],
  [
    'a group that waits in vain',
    async (_mine, nth, here, signal) => (await here.waitGroup(`g${nth % 3}`)).wait({ signal, ...NEVER }),
  ],
  [
    'a result that was waited for in vain',
    async (_mine, nth, here, signal) => {
      const { id } = await here.tasks.enqueue('work', null, { id: `t${nth % 3}` });
      await here.tasks.result(id, { signal, ...NEVER });
    },
  ],
  ['a watch in vain', (_mine, nth, here, signal) => here.locks.watch(`w${nth % 3}`, { timeout: '1s', signal })],
  [
    'a watch that ends long before its time',
    async (_mine, nth, here, signal) => {
      const { index } = await here.locks.read('watched');
      const change = here.locks.watch('watched', { index, timeout: '1h', signal });
      await here.locks.put('watched', String(nth));
      await change;
    },
  ],
  [
    'an observer who sees a leader come',
    async (mine, _nth, here, signal) => {
      const reigns = here.elections.observe('observed', { signal });
      await reigns.next();
      const change = reigns.next();
      const leadership = await mine.campaign('observed');
      await change;
      await leadership.resign();
      await reigns.return(undefined);
    },
  ],
  [
    'the end of a session that was waited for',
    async (_mine, _nth, here, signal) => {
      const session = await here.session();
      const ended = here.sessions.waitForEnd(session.id, { signal });
      await session.end();
      await ended;
    },
  ],
];

async function work(): Promise<void> {
  await Promise.resolve();
}

async function release(tried: {
  readonly kind: string;
  readonly lock?: { release(): Promise<unknown> };
}): Promise<void> {
  await tried.lock!.release();
}

async function refused(waiting: Promise<unknown>): Promise<void> {
  await expect(waiting).rejects.toThrow();
}

/** Bounded collections. */
const BOUNDED: Readonly<Record<string, number>> = { '.mine.sessionLocks.#left': 1_000 };

test.each(USES)('%s', async (_what, use) => {
  const world = simulatedWorld();
  const [here, there] = [world.start(), world.start()];
  const theirs = await there.leasehold.session({ ttl: '1h' });
  const mine = await here.leasehold.session({ ttl: '1h' });
  for (const key of ['taken0', 'taken1', 'taken2']) await theirs.lock(key);
  await theirs.permit('full', { limit: 1 });
  const { signal } = new AbortController();
  const kept = (): ReturnType<typeof ledgerOf> =>
    ledgerOf({ mine, signal, leasehold: here.leasehold, clock: world.clock });
  const times = async (from: number, to: number): Promise<void> => {
    for (let nth = from; nth < to; nth++) await passTime(world, use(mine, nth, here.leasehold, signal), 250);
  };

  await times(0, 5);
  const before = kept();
  await times(5, 15);

  const found = Object.entries(grown(before, kept()));
  expect(found.filter(([path, [, size]]) => !(size <= (BOUNDED[path] ?? 0)))).toEqual([]);
});
