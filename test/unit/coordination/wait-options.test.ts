/** Each option of a wait has its effect, whatever is waited for. */
import { describe, expect, test } from 'vitest';
import type { Session } from '../../../shared/client/session.ts';
import type { WaitOptions } from '../../../shared/core/wait/wait.ts';
import type { Process, World } from '../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';
import { grown, ledgerOf } from '../../support/ledger.ts';

interface Waiter {
  /** The right that another process takes first. */
  readonly take: (theirs: Session, there: Process) => Promise<unknown>;
  readonly wait: (mine: Session, options: WaitOptions, here: Process) => Promise<unknown>;
}

const FULL = { limit: 1 };
const WAITERS: Readonly<Record<string, Waiter>> = {
  'a lock': { take: (theirs) => theirs.lock('k'), wait: (mine, options) => mine.lock('k', options) },
  'several locks': { take: (theirs) => theirs.lock('k'), wait: (mine, options) => mine.lockAll(['a', 'k'], options) },
  leadership: { take: (theirs) => theirs.campaign('e'), wait: (mine, options) => mine.campaign('e', options) },
  'a permit': {
    take: (theirs) => theirs.permit('s', FULL),
    wait: (mine, options) => mine.permit('s', { ...FULL, ...options }),
  },
  'a slot of a limiter': {
    take: (theirs) => theirs.limiter('l', FULL).add(),
    wait: (mine, { pause, ...options }) => mine.limiter('l', { ...FULL, pause }).add(options),
  },
  'the members of a group': {
    take: async (_theirs, { leasehold }) => (await leasehold.waitGroup('g')).add(['m']),
    wait: async (_mine, options, { leasehold }) => (await leasehold.waitGroup('g')).wait(options),
  },
};

describe.each(Object.entries(WAITERS))('%s', (_what, { take, wait }) => {
  async function start(options: WaitOptions): Promise<{ world: World; here: Process; ended: Promise<unknown> }> {
    const world = simulatedWorld();
    const here = world.start();
    const there = world.start();
    await take(await there.leasehold.session({ ttl: '10m' }), there);
    const ended = wait(await here.leasehold.session({ ttl: '10m' }), options, here).catch((error: unknown) => error);
    return { world, here, ended };
  }

  test('is waited for as long as `wait` says', async () => {
    const { world, ended } = await start({ wait: '7s' });
    const before = world.clock.now();

    await passTime(world, ended);

    expect(world.clock.now() - before).toBeGreaterThan(6_500);
    expect(world.clock.now() - before).toBeLessThan(8_000);
  });

  test('is asked for as often as `pause` says', async () => {
    const costs = await Promise.all(
      ['50ms' as const, '40s' as const].map(async (pause) => {
        const stop = new AbortController();
        const { world, here, ended } = await start({ pause, signal: stop.signal });
        const { requests } = await here.cost(() => world.clock.advance(20_000));
        stop.abort();
        await passTime(world, ended);
        return requests;
      }),
    );

    expect(costs[0]).toBeGreaterThan(100);
    expect(costs[1]).toBeLessThan(20);
  });

  test('is given up for the reason of `signal`', async () => {
    const stop = new AbortController();
    const { world, ended } = await start({ signal: stop.signal });
    await world.clock.advance(3_000);

    stop.abort(new Error('no more use'));

    expect(await passTime(world, ended)).toMatchObject({ message: 'no more use' });
  });
});

/** Every wait that takes a signal: a process that shuts down must not wait for it, or for its timers. */
const ENDED_BY_SIGNAL: Readonly<
  Record<string, (mine: Session, here: Process, signal: AbortSignal) => Promise<unknown>>
> = {
  ...Object.fromEntries(
    Object.entries(WAITERS).map(([what, { wait }]) => [
      what,
      (mine: Session, here: Process, signal: AbortSignal) => wait(mine, { signal }, here),
    ]),
  ),
  'a slot in which work runs': (mine, _here, signal) =>
    mine.limiter('l', FULL).run(() => Promise.resolve(), { signal }),
  tokens: async (_mine, { leasehold }, signal) => {
    const limiter = leasehold.rateLimiter('r', { rate: 1, per: '1h' });
    await limiter.tryTake('k');
    await limiter.take('k', { signal });
  },
  'a change of a key': (_mine, { leasehold }, signal) => leasehold.locks.watch('none', { signal, timeout: '1h' }),
  'a leader': async (_mine, { leasehold }, signal) => {
    for await (const { leader } of leasehold.elections.observe('none', { signal })) expect(leader).toBeUndefined();
  },
  'the end of a session': (mine, { leasehold }, signal) => leasehold.sessions.waitForEnd(mine.id, { signal }),
  'the result of a task': async (_mine, { leasehold }, signal) => {
    const { id } = await leasehold.tasks.enqueue('work', null);
    await leasehold.tasks.result(id, { signal, wait: '1h' });
  },
};

test.each(Object.entries(ENDED_BY_SIGNAL))(
  'a wait for %s ends with its signal, and no timer of it is left',
  async (_what, wait) => {
    const world = simulatedWorld();
    const [here, there] = [world.start(), world.start()];
    const theirs = await there.leasehold.session({ ttl: '1d' });
    const { 'several locks': _sameKey, ...takers } = WAITERS;
    for (const { take } of Object.values(takers)) await take(theirs, there);
    const mine = await here.leasehold.session({ ttl: '1d' });
    await world.clock.advance(1_000);
    const before = ledgerOf({ clock: world.clock });
    const stop = new AbortController();
    let isOver = false;
    const over = (): void => {
      isOver = true;
    };
    wait(mine, here, stop.signal).then(over, over);
    await world.clock.advance(30_000);
    expect(isOver).toBe(false);

    stop.abort();
    await world.clock.advance(0);
    await world.idle();
    await world.clock.advance(0);

    expect(isOver).toBe(true);
    expect(grown(before, ledgerOf({ clock: world.clock }))).toEqual({});
  },
);
