/** `SessionHolder`: when it sends, how long it trusts itself, and why it is lost. */
import { once } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { LeaseLostError } from '../../../shared/core/errors.ts';
import { sessionTiming } from '../../../shared/core/lease/timing.ts';
import { systemIds } from '../../../shared/core/runtime/ids.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { sessionKey } from '../../../shared/dynamo/engine/keys.ts';
import type { DynamoItem } from '../../../shared/dynamo/engine/driver.ts';
import type { SessionEvents } from '../../../shared/session/keep-alive.ts';
import { SessionHolder } from '../../../shared/session/keep-alive.ts';
import type { Process } from '../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';
import { ledgerOf } from '../../support/ledger.ts';

const HEARTBEAT_MS = 10_000;
/** The TTL less the holder's margin. */
const TRUST_MS = 29_000;
const never = new AbortController().signal;

/** Every heartbeat comes at its latest, unless `drawn` is less. */
async function open({
  ttlMs = 30_000,
  drawn = 1,
  events,
}: {
  readonly ttlMs?: number | null;
  readonly drawn?: number;
  readonly events?: SessionEvents;
} = {}) {
  const world = simulatedWorld();
  const here = world.start({}, { random: { next: () => drawn }, ids: systemIds });
  const holder = await SessionHolder.create(
    { timing: sessionTiming({ ttlMs }), name: 'n', node: 'n', behaviour: 'release' },
    { ...here.ports, store: here.ports.sessions, ...(events === undefined ? {} : { events }) },
  );
  const key = sessionKey(holder.id);
  const write = async (change: DynamoItem): Promise<void> => {
    const Item = { ...(await world.row(key)), ...change };
    await world.driver.attempt('put', { TableName: world.table, Item }, never);
  };
  const remove = () => world.driver.attempt('delete', { TableName: world.table, Key: key }, never);
  return { world, here, holder, write, remove };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Requests of this process of one kind meet `fate` instead of the store. */
function intercept({ driver }: Process, kind: string, fate: (signal: AbortSignal) => Promise<never>): () => void {
  const attempt = driver.attempt.bind(driver);
  driver.attempt = (asked, input, signal) => (asked === kind ? fate(signal) : attempt(asked, input, signal));
  return () => {
    driver.attempt = attempt;
  };
}

/** No answer, until the sender gives the attempt up. */
async function silence(signal: AbortSignal): Promise<never> {
  await once(signal, 'abort');
  throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
}

describe.each([30_000, null])('a heartbeat with a TTL of %s', (ttlMs) => {
  test.each([
    [0, 0.9 * HEARTBEAT_MS],
    [0.5, 0.95 * HEARTBEAT_MS],
    [1, HEARTBEAT_MS],
  ])('that drew %s comes after %s ms, and again after as long', async (drawn, afterMs) => {
    const { world, here } = await open({ ttlMs, drawn });

    for (let beat = 1; beat <= 2; beat++) {
      expect((await here.cost(() => world.clock.advance(afterMs - 1))).requests).toBe(0);
      expect((await here.cost(() => world.clock.advance(1))).requests).toBe(1);
    }
  });
});

describe('a renewal', () => {
  test('that is throttled is sent again at once, and has not failed', async () => {
    const onRenewalFailed = vi.fn<() => void>();
    const { world, here, holder } = await open({ events: { onRenewalFailed } });
    here.driver.accidents.push('throttle', 'throttle');

    await world.clock.advance(HEARTBEAT_MS + 100);

    expect(holder.record.renewals).toBe(1);
    expect(onRenewalFailed).not.toHaveBeenCalled();
  });

  test('without an answer is given up after a heartbeat, although trust lasts longer', async () => {
    const onRenewalFailed = vi.fn<() => void>();
    const { world, here } = await open({ events: { onRenewalFailed } });
    intercept(here, 'update', silence);

    await world.clock.advance(2 * HEARTBEAT_MS);

    expect(onRenewalFailed).toHaveBeenCalledOnce();
  });

  test('is not sent again once the session is lost', async () => {
    const { world, here, holder } = await open();
    let attempts = 0;
    intercept(here, 'update', () => {
      attempts++;
      holder.markLost(new LeaseLostError('session', 'missing', 'a write was refused'));
      return Promise.reject(new DynamoFault('throttled', { code: 'ThrottlingException', message: 'slow down' }));
    });

    await world.clock.advance(TRUST_MS);

    expect(attempts).toBe(1);
  });

  test('that is asked for twice at once is sent once, and opens the window anew', async () => {
    const { world, here, holder } = await open();
    await world.clock.advance(5_000);
    let trusted: readonly number[] = [];

    const cost = await here.cost(async () => (trusted = await Promise.all([holder.renew(), holder.renew()])));

    expect(cost.verbs).toEqual({ 'session.renew': 1 });
    expect(trusted).toEqual([TRUST_MS, TRUST_MS]);
    expect(holder.remainingTrustMs()).toBe(TRUST_MS);
  });

  test('that was answered in the end leaves no nonce of the earlier ones behind', async () => {
    const { world, here, holder } = await open();
    const putRight = intercept(here, 'update', silence);
    await passTime(world, holder.renew());
    expect(ledgerOf(holder)['.#unanswered']).toBe(1);
    putRight();

    await holder.renew();

    expect(ledgerOf(holder)['.#unanswered']).toBe(0);
  });
});

describe('trust', () => {
  test('ends at the very end of the window, with or without a timer that tells', async () => {
    const { world, holder } = await open();

    world.clock.step(TRUST_MS - 1);
    holder.ensureTrusted();
    expect([holder.remainingTrustMs(), holder.signal.aborted]).toEqual([1, false]);
    world.clock.step(1);

    expect(() => holder.ensureTrusted()).toThrow(LeaseLostError);
    expect([holder.remainingTrustMs(), holder.signal.aborted]).toEqual([0, true]);
  });

  test('ends on time if nobody asks, and the watch of it sleeps in between', async () => {
    const onLost = vi.fn<() => void>();
    const { world, here } = await open({ events: { onLost } });
    const slept = vi.spyOn(here.runtime.clock, 'sleep');
    await world.clock.advance(HEARTBEAT_MS);
    intercept(here, 'update', silence);

    await world.clock.advance(TRUST_MS - 1);
    expect(onLost).not.toHaveBeenCalled();
    await world.clock.advance(1);

    expect(onLost).toHaveBeenCalledOnce();
    expect(slept.mock.calls.length).toBeLessThan(50);
  });

  test('is over at once for a session that is lost within its window', async () => {
    const onRenewalFailed = vi.fn<() => void>();
    const { here, holder } = await open({ events: { onRenewalFailed } });

    holder.markLost(new LeaseLostError('session', 'missing', 'a write was refused'));

    expect(holder.remainingTrustMs()).toBe(0);
    const cost = await here.cost(() => expect(holder.renew()).rejects.toThrow('a write was refused'));
    expect(cost.requests).toBe(0);
    expect(onRenewalFailed).not.toHaveBeenCalled();
  });
});

const LOSSES: readonly [string, number | null, (opened: Opened) => Promise<unknown>, object][] = [
  ['has no row', 30_000, ({ remove }) => remove(), { reason: 'missing' }],
  ['has no row and no TTL', null, ({ remove }) => remove(), { reason: 'missing' }],
  [
    'was ended by another process',
    30_000,
    ({ here, holder }) => here.leasehold.sessions.destroy(holder.id),
    { reason: 'invalidated', message: expect.stringContaining('(destroyed) at') as string },
  ],
  ['was renewed by another process', 30_000, ({ write }) => write({ nonce: 'theirs' }), { reason: 'superseded' }],
  ['has expired by its row', 30_000, ({ write }) => write({ expiresAt: 1_000 }), { reason: 'expired' }],
];

test.each(LOSSES)(
  'a session that %s is lost, says why, and ends without a request',
  async (_what, ttlMs, strike, why) => {
    const onLost = vi.fn<(error: LeaseLostError) => void>();
    const opened = await open({ ttlMs, events: { onLost } });
    const { world, here, holder } = opened;
    await strike(opened);

    await world.clock.advance(HEARTBEAT_MS);

    expect(onLost.mock.calls).toMatchObject([[why]]);
    expect((await here.cost(() => holder.end())).requests).toBe(0);
    expect(onLost).toHaveBeenCalledOnce();
  },
);

test('a session whose unanswered renewal was sent by a clock that was behind is lost when that clock is right again', async () => {
  const { world, here, holder } = await open();
  const attempt = here.driver.attempt.bind(here.driver);
  here.clockError.ms = -3_600_000;
  here.driver.attempt = async (kind, input, signal) => {
    await attempt(kind, input, signal).catch(() => undefined);
    return silence(signal);
  };
  await passTime(world, holder.renew());
  here.clockError.ms = 0;
  here.driver.attempt = attempt;

  await expect(passTime(world, holder.renew())).rejects.toMatchObject({
    reason: 'expired',
    message: expect.stringContaining('the clock jumped') as string,
  });
});

describe('a revocation', () => {
  test('of what nobody listens for any longer changes nothing', async () => {
    const onRenewalFailed = vi.fn<() => void>();
    const { world, holder, write } = await open({ events: { onRenewalFailed } });
    const heard = vi.fn<() => void>();
    holder.onRevoked('r', heard)();
    await write({ revoked: ['r'] });

    await world.clock.advance(HEARTBEAT_MS);
    // It was told before this listener came, which leaves at once.
    holder.onRevoked('r', heard)();
    await world.clock.advance(0);

    expect(heard).not.toHaveBeenCalled();
    expect(onRenewalFailed).not.toHaveBeenCalled();
    expect(holder.record.renewals).toBe(1);
  });

  test('is kept for its listener, unless a thousand came after it', async () => {
    const { world, holder, write } = await open();
    await write({ revoked: Array.from({ length: 1_001 }, (_, nth) => `r${nth}`) });
    await world.clock.advance(HEARTBEAT_MS);
    const heard: string[] = [];

    for (const revocation of ['r0', 'r1', 'r1000']) holder.onRevoked(revocation, () => void heard.push(revocation));
    await world.clock.advance(0);

    expect(heard).toEqual(['r1', 'r1000']);
  });
});
