/** One waiter's memory of the sessions that block it: it reads only what may have changed. */
import { expect, test } from 'vitest';
import { SessionVerdicts, earliestEnd } from '../../../shared/session/session-verdicts.ts';
import { simulatedWorld } from '../../support/coordination.ts';

test('judges a session again until its lock-delay is over, and never after that', async () => {
  const world = simulatedWorld();
  const [holder, waiter] = [world.start(), world.start()];
  const { id } = await holder.leasehold.session({ ttl: '10s', lockDelay: '15s' });
  const verdicts = new SessionVerdicts(waiter.ports, waiter.maxClockSkewMs);
  const judged = async () => (await verdicts.judge(new Set([id]))).get(id)?.kind;
  const kinds = [await judged()];

  holder.driver.isDown = true;
  for (const passedMs of [11_000, 5_000, 15_000]) {
    await world.clock.advance(passedMs);
    kinds.push(await judged());
  }

  expect(kinds).toEqual(['live', 'closed', 'closed', 'free']);
  await world.clock.advance(60_000);
  expect(await waiter.cost(judged)).toMatchObject({ requests: 0 });
});

test('knows the earliest end of several sessions, and of none', () => {
  const standings = (...ends: (number | null)[]) =>
    new Map(ends.map((until, at) => [`s${at}`, { kind: 'live', until } as const]));

  expect(earliestEnd(standings(30, 10, null, 20))).toBe(10);
  expect(earliestEnd(new Map([['s', { kind: 'closed', until: 7 }]]))).toBe(7);
  expect(earliestEnd(standings(null))).toBeNull();
  expect(earliestEnd(new Map([['s', { kind: 'free' }]]))).toBeNull();
});
