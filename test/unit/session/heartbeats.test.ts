/** A session by itself: how soon it retries, and that all its work stops at its end. */
import type { Session } from '../../../shared/client/session.ts';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { LeaseLostError } from '../../../shared/core/errors.ts';
import type { Process, World } from '../../support/coordination.ts';
import { LossyNetwork } from '../../support/lossy-network.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { sessionKey } from '../../../shared/dynamo/engine/keys.ts';
import { DynamoFault } from '../../../shared/dynamo/engine/driver.ts';
import { sessionTiming } from '../../../shared/core/lease/timing.ts';
import { systemIds } from '../../../shared/core/runtime/ids.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';

test('survives every outage that ends a quarter of a heartbeat before its trust does', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 10, max: 60 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 0.99, noNaN: true }),
      fc.constantFrom('nothing arrives', 'no answer arrives'),
      async (ttlSeconds, startShare, drawn, outage) => {
        const world = simulatedWorld();
        const here = world.start({}, { random: { next: () => drawn }, ids: systemIds });
        const { leasehold, driver } = here;
        const network = new LossyNetwork(here, /./);
        const fail = (isOut: boolean): void => {
          if (outage === 'nothing arrives') driver.isDown = isOut;
          else network.fate = isOut ? 'loseAnswer' : 'none';
        };
        const session = await leasehold.session({ ttl: `${ttlSeconds}s` });
        const { heartbeatMs } = sessionTiming({ ttlMs: ttlSeconds * 1_000 });
        await world.clock.advance(heartbeatMs * (2 + startShare));
        fail(true);
        // A heartbeat that failed is repeated after a quarter; each attempt may take its whole budget in vain.
        await world.clock.advance(session.remainingTrustMs() - heartbeatMs / 4 - 100);
        fail(false);
        await world.clock.advance(heartbeatMs / 4 + 50);

        expect(session.signal.aborted).toBe(false);
        expect(session.remainingTrustMs()).toBeGreaterThan(heartbeatMs);
        await session.end();
      },
    ),
    { seed: 1, numRuns: 40 },
  );
});

test('trusts itself from before each request, even if its answer comes late', async () => {
  const world = simulatedWorld();
  const { leasehold, driver, runtime } = world.start();
  const attempt = driver.attempt.bind(driver);
  driver.attempt = async (...request) => {
    const answer = await attempt(...request);
    await runtime.clock.sleep(1_000);
    return answer;
  };

  const session = await passTime(world, leasehold.session({ ttl: '30s' }));
  expect(session.remainingTrustMs()).toBe(28_000);
  await world.clock.advance(5_000);

  expect(await passTime(world, session.renew())).toBe(28_000);
});

describe('a session that is over', () => {
  test.each(['ended', 'lost'] as const)('and %s asks for nothing and sleeps no more', async (how) => {
    const world = simulatedWorld();
    const here = world.start();
    const { leasehold } = here;
    const onLost = vi.fn<() => void>();
    const session = await leasehold.session({ ttl: '30s', events: { onLost } });
    const lock = await session.lock('k');
    if (how === 'ended') await session.end();
    else await leasehold.sessions.destroy(session.id);
    await world.clock.advance(31_000);
    expect(lock.signal.aborted).toBe(true);

    const slept = vi.spyOn(ManualClock.prototype, 'sleep');
    expect(await here.cost(() => world.clock.advance(120_000))).toMatchObject({ requests: 0 });
    expect(slept).not.toHaveBeenCalled();
    slept.mockRestore();
    expect(onLost).toHaveBeenCalledTimes(how === 'lost' ? 1 : 0);
  });

  test('has no trust left, and gives out no right', async () => {
    const world = simulatedWorld();
    const { leasehold } = world.start();
    const session = await leasehold.session({ ttl: '30s' });

    await session.end();

    expect(session.remainingTrustMs()).toBe(0);
    await expect(session.lock('k')).rejects.toThrow(LeaseLostError);
    await expect(session.tryLock('k')).rejects.toThrow(LeaseLostError);
    await expect(session.permit('s', { limit: 1 })).rejects.toThrow(LeaseLostError);
    expect(await leasehold.locks.get('k')).toBeUndefined();
  });

  test.each<[string, (session: Session) => Promise<unknown>]>([
    ['lock', (session) => session.lock('k')],
    ['tryLock', (session) => session.tryLock('k')],
    ['lockAll', (session) => session.lockAll(['k', 'l'])],
    ['tryLockAll', (session) => session.tryLockAll(['k', 'l'])],
  ])('gives out no lock by %s whose answer arrives after its end began', async (_verb, ask) => {
    const world = simulatedWorld();
    const { leasehold, driver } = world.start();
    const session = await leasehold.session({ ttl: '30s' });
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<undefined>();
    const attempt = driver.attempt.bind(driver);
    driver.attempt = async (kind, input, signal) => {
      const output = await attempt(kind, input, signal);
      if (kind !== 'batchGet') await arrived;
      return output;
    };

    const locking = ask(session);
    const refused = expect(locking).rejects.toThrow(LeaseLostError);
    await world.clock.advance(0);
    const ending = session.end();
    arrive(undefined);

    await refused;
    await ending;
  });
});

/** The fate of an unanswered heartbeat. `late`: it arrives just before the heartbeat after the next one. */
type Fate = 'applied' | 'dropped' | 'late';
const FATES: readonly Fate[] = ['applied', 'dropped', 'late'];
const ONE_OR_TWO = [...FATES.map((fate) => [fate]), ...FATES.flatMap((fate) => FATES.map((next) => [fate, next]))];

/** Gives the next heartbeats these fates: the first attempt of each has its fate, and its retries do not arrive. */
function fail({ driver, runtime }: Process, fates: readonly Fate[]): void {
  const attempt = driver.attempt.bind(driver);
  const nonces: string[] = [];
  const late: { readonly beforeNth: number; readonly send: () => Promise<unknown> }[] = [];
  driver.attempt = async (kind, input, signal) => {
    const nonce = kind === 'update' ? nonceOf(input) : undefined;
    if (nonce === undefined) return attempt(kind, input, signal);
    const isRetry = nonces.includes(nonce);
    if (!isRetry) nonces.push(nonce);
    const nth = nonces.indexOf(nonce);
    if (late[0]?.beforeNth === nth)
      await late
        .shift()
        ?.send()
        .catch(() => undefined);
    const fate = fates[nth];
    if (fate === undefined) return attempt(kind, input, signal);
    const send = (): Promise<unknown> => attempt(kind, input, new AbortController().signal);
    if (!isRetry && fate === 'applied') await send().catch(() => undefined);
    if (!isRetry && fate === 'late') late.push({ beforeNth: nth + 2, send });
    await runtime.clock.sleep(1_000, signal);
    throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
  };
}

function nonceOf(input: object): string | undefined {
  const { ExpressionAttributeValues: values } = input as { ExpressionAttributeValues?: Record<string, unknown> };
  return values?.[':lastNonce'] === undefined ? undefined : String(values[':nonce']);
}

describe.each(ONE_OR_TWO.map((fates) => ({ fates, name: fates.join(', then ') })))(
  'after unanswered heartbeats ($name)',
  ({ fates }) => {
    async function open() {
      const world = simulatedWorld();
      const here = world.start();
      const losses: string[] = [];
      let failures = 0;
      const events = {
        onLost: ({ reason }: LeaseLostError) => void losses.push(reason),
        onRenewalFailed: () => void failures++,
      };
      const session = await here.leasehold.session({ ttl: '5m', heartbeat: '10s', events });
      const lock = await session.lock('k');
      fail(here, fates);
      while (failures < fates.length) await world.clock.advance(100);
      return { world, here, session, lock, losses };
    }

    test('the session lives, with all it holds', async () => {
      const { world, here, session, lock, losses } = await open();

      await world.clock.advance(30_000);

      expect(losses).toEqual([]);
      expect(session.remainingTrustMs()).toBeGreaterThan(280_000);
      expect(lock.signal.aborted).toBe(false);
      expect(await here.leasehold.sessions.get(session.id)).toMatchObject({ nonce: session.record.nonce });
      await session.end();
    });

    test.each<[string, (world: World, here: Process, id: string) => Promise<unknown>]>([
      ['superseded', (world, _here, id) => put(world, id, { nonce: 'of another process' })],
      ['invalidated', (_world, { leasehold }, id) => leasehold.sessions.destroy(id)],
      ['missing', (world, _here, id) => put(world, id, undefined)],
    ])('it is lost if it was %s', async (reason, meddle) => {
      const { world, here, session, lock, losses } = await open();
      await meddle(world, here, session.id);

      await world.clock.advance(30_000);

      expect(losses).toEqual([reason]);
      expect(lock.signal.aborted).toBe(true);
    });
  },
);

async function put(world: World, id: string, change: object | undefined): Promise<void> {
  const key = sessionKey(id);
  const base = { TableName: world.table };
  const { signal } = new AbortController();
  if (change === undefined) await world.driver.attempt('delete', { ...base, Key: { ...key } }, signal);
  else await world.driver.attempt('put', { ...base, Item: { ...(await world.row(key)), ...change } }, signal);
}
