/** An event loop that is blocked sends no heartbeat: its session is lost, and says why. */
import { beforeEach, expect, test } from 'vitest';
import type { LeaseLostError } from '../../../shared/core/errors.ts';
import type { Session } from '../../../shared/client/session.ts';
import type { Process, World } from '../../support/coordination.ts';
import { simulatedWorld } from '../../support/coordination.ts';

const TTL_MS = 30_000;

let world: World;
let here: Process;
let late: number[];
let lost: LeaseLostError[];
let session: Session;
/** While it is set, the process makes no progress: its timers end afterwards. */
let blocked: PromiseWithResolvers<void> | undefined;

beforeEach(async () => {
  world = simulatedWorld();
  here = world.start();
  const { clock } = here.runtime;
  const sleep = clock.sleep.bind(clock);
  clock.sleep = async (ms, signal) => {
    await sleep(ms, signal);
    await blocked?.promise;
  };
  [late, lost] = [[], []];
  session = await here.leasehold.session({
    ttl: TTL_MS,
    events: { onBlocked: (lateMs) => void late.push(lateMs), onLost: (error) => void lost.push(error) },
  });
});

async function block(ms: number, atTheEnd: () => void = () => undefined): Promise<void> {
  blocked = Promise.withResolvers();
  await world.clock.advance(ms);
  // The next step of the blocking code comes before any timer.
  atTheEnd();
  blocked.resolve();
  blocked = undefined;
  await world.clock.advance(100);
}

const SAYS_SO =
  /no renewal was confirmed .* event loop was blocked, or its process stopped, for 2\d s at least: .*worker thread/;

test('reports a session lost to a blocked event loop, with the remedy', async () => {
  await block(TTL_MS + 1_000);

  expect(lost).toMatchObject([{ reason: 'expired' }]);
  expect(lost[0]?.message).toMatch(SAYS_SO);
  expect(late).toHaveLength(1);
  expect(late[0]).toBeGreaterThan(20_000);
});

test('informs code that asks right after it blocked, before any timer fires', async () => {
  await block(TTL_MS + 1_000, () => {
    expect(session.signal.aborted).toBe(true);
  });

  expect((session.signal.reason as LeaseLostError).message).toMatch(SAYS_SO);
});

test('reports a late but timely heartbeat, and the session continues', async () => {
  await block(16_000);
  await world.clock.advance(20_000);

  expect(late).toHaveLength(1);
  expect([session.signal.aborted, lost]).toEqual([false, []]);
});

test('does not mistake an unresponsive store for a blocked event loop', async () => {
  here.driver.isDown = true;
  await world.clock.advance(TTL_MS + 1_000);

  expect(lost[0]?.message).toMatch(/no renewal was confirmed within \d+ ms; stop/);
  expect(late).toEqual([]);
});

test('does not blame a later loss on a block that a renewal survived', async () => {
  await block(16_000);
  await world.clock.advance(20_000);
  here.driver.isDown = true;
  await world.clock.advance(TTL_MS + 1_000);

  expect(lost[0]?.message).not.toMatch(/blocked/);
});
