/**
 * One waiter behind a holder that crashed, with nobody else who polls, heals or releases.
 * The bound is the session's own: its TTL, its lock-delay and the clock bound for each, and two seconds for a recheck each.
 */
import { expect, test } from 'vitest';
import type { Session } from '../../../shared/client/session.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';

const TTL_MS = 30_000;
const SKEW_MS = 1_000;
const RECHECK_MS = 2_000;
const NOT_FOR_EVER = { wait: '10m' } as const;

type Take = (session: Session) => Promise<unknown>;
const RIGHTS: readonly [string, { readonly hold: Take; readonly wait: Take }][] = [
  ['a lock', { hold: (one) => one.lock('k'), wait: (one) => one.lock('k', NOT_FOR_EVER) }],
  ['several locks', { hold: (one) => one.lock('l'), wait: (one) => one.lockAll(['k', 'l', 'm'], NOT_FOR_EVER) }],
  ['an election', { hold: (one) => one.campaign('k'), wait: (one) => one.campaign('k', NOT_FOR_EVER) }],
  [
    'a permit',
    { hold: (one) => one.permit('s', { limit: 1 }), wait: (one) => one.permit('s', { limit: 1, ...NOT_FOR_EVER }) },
  ],
  [
    'a permit in turn',
    {
      hold: (one) => one.permit('s', { limit: 1 }),
      wait: (one) => one.permit('s', { limit: 1, fair: true, ...NOT_FOR_EVER }),
    },
  ],
  [
    'all permits',
    {
      hold: (one) => one.permit('s', { limit: 3 }),
      wait: (one) => one.permit('s', { limit: 3, permits: 3, fair: true, ...NOT_FOR_EVER }),
    },
  ],
];

test.each(RIGHTS.flatMap(([what, right]) => [0, 1_000, 15_000, 60_000].map((delayMs) => ({ what, right, delayMs }))))(
  'gets $what behind a lock-delay of $delayMs ms',
  async ({ right, delayMs }) => {
    const world = simulatedWorld();
    const [crashing, alone] = [world.start(), world.start()];
    const timing = { ttl: TTL_MS, lockDelay: delayMs };
    await right.hold(await crashing.leasehold.session(timing));
    const waiter = await alone.leasehold.session({ ttl: '1h' });
    crashing.driver.isDown = true;
    const beganAt = world.clock.now();

    await passTime(world, right.wait(waiter), 250);

    const tookMs = world.clock.now() - beganAt;
    expect(tookMs).toBeGreaterThan(TTL_MS + delayMs);
    expect(tookMs).toBeLessThanOrEqual(
      TTL_MS + SKEW_MS + RECHECK_MS + (delayMs > 0 ? delayMs + SKEW_MS + RECHECK_MS : 0),
    );
  },
);
