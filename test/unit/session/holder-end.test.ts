/** `SessionHolder.end`, and unresolved writes until then. */
import { describe, expect, test, vi } from 'vitest';
import { sessionTiming } from '../../../shared/core/lease/timing.ts';
import type { SessionEvents } from '../../../shared/session/keep-alive.ts';
import { SessionHolder } from '../../../shared/session/keep-alive.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';

const HEARTBEAT_MS = 10_000;

async function open(given: Parameters<typeof sessionTiming>[0] = {}, events?: SessionEvents) {
  const world = simulatedWorld();
  const here = world.start();
  const holder = await SessionHolder.create(
    { timing: sessionTiming(given), name: 'n', node: 'n', behaviour: 'release' },
    { ...here.ports, store: here.ports.sessions, ...(events === undefined ? {} : { events }) },
  );
  const status = async () => (await here.leasehold.sessions.get(holder.id))?.status;
  return { world, here, holder, status };
}

describe('the end of a session', () => {
  test.each([30_000, null])('with a TTL of %s is one request, however often it is asked for', async (ttlMs) => {
    const { here, holder } = await open({ ttlMs });

    const cost = await here.cost(async () => {
      await using _ = holder;
    });
    const again = await here.cost(() => Promise.all([holder.end(), holder.end()]));

    expect([cost.verbs, again.verbs]).toEqual([{ 'session.invalidate': 1 }, {}]);
  });

  test('of an unlisted session costs a unit, as its begin does', async () => {
    const world = simulatedWorld();
    const [here, other] = [world.start(), world.start()];
    const timing = sessionTiming({});
    const cost = await here.cost(async () => {
      const settings = { timing, name: 'n', node: 'n', behaviour: 'release', listed: false } as const;
      const holder = await SessionHolder.create(settings, { ...here.ports, store: here.ports.sessions });
      expect(await Array.fromAsync(other.leasehold.sessions.list())).toEqual([]);
      await holder.end();
    });

    expect(cost.writeUnits).toBe(2);
  });

  test('is left to the TTL if it holds nothing, unless one of its writes is undecided', async () => {
    const { here, holder, status } = await open();
    const other = await open();
    other.holder.settleLater('a lock', () => Promise.resolve(false));

    const cost = await here.cost(() => holder.end({ holdsNothing: true }));
    await other.holder.end({ holdsNothing: true });

    expect([cost.verbs, holder.signal.aborted, holder.remainingTrustMs()]).toEqual([{}, true, 0]);
    expect([await status(), await other.status()]).toEqual(['live', 'invalid']);
  });

  test('waits for a renewal under way, which would otherwise arrive after it', async () => {
    const { here, holder, status } = await open();
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<undefined>();
    const attempt = here.driver.attempt.bind(here.driver);
    const sent: string[] = [];
    here.driver.attempt = async (kind, input, signal) => {
      sent.push(kind);
      await arrived;
      return attempt(kind, input, signal);
    };
    const renewing = holder.renew().catch((error: unknown) => error);

    const ending = holder.end();
    await here.runtime.clock.sleep(0);
    expect(sent).toEqual(['update']);
    arrive(undefined);
    await ending;

    expect(sent).toEqual(['update', 'update']);
    expect(await renewing).toMatchObject({ reason: 'released' });
    expect([holder.record.renewals, await status()]).toEqual([1, 'invalid']);
  });

  test('waits for the settlement of a write under way, and begins no other', async () => {
    const { world, here, holder, status } = await open();
    const { promise: settled, resolve: settle } = Promise.withResolvers<boolean>();
    const write = vi.fn<() => Promise<boolean>>().mockReturnValue(settled);
    holder.settleLater('a write', write);
    await world.clock.advance(HEARTBEAT_MS);

    const ending = holder.end();
    await here.runtime.clock.sleep(0);
    expect(await status()).toBe('live');
    settle(false);
    await ending;

    expect(await status()).toBe('invalid');
    expect(write).toHaveBeenCalledOnce();
  });

  test('that the store does not answer tells of that, and of no loss, although its trust ends meanwhile', async () => {
    const [onRenewalFailed, onLost] = [vi.fn<() => void>(), vi.fn<() => void>()];
    const { world, here, holder } = await open({}, { onRenewalFailed, onLost });
    await world.clock.advance(28_000);
    here.driver.accidents.push('throttle');
    const attempt = here.driver.attempt.bind(here.driver);
    here.driver.attempt = (kind, input, signal) => {
      expect(holder.signal.aborted).toBe(true);
      world.clock.step(60_000);
      return attempt(kind, input, signal);
    };
    here.driver.isDown = true;

    await passTime(world, holder.end());

    expect(onRenewalFailed).toHaveBeenCalledOnce();
    expect(onLost).not.toHaveBeenCalled();
    expect(holder.signal.reason).toMatchObject({ reason: 'released' });
  });
});
