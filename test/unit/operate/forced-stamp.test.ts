/**
 * A tenure that an operator ends: each attempt states its own time, because the holder may still trust its lease until one of them arrives.
 */
import { describe, expect, test } from 'vitest';
import { lockKey, sessionKey } from '../../../shared/dynamo/engine/keys.ts';
import type { Process, World } from '../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';
import { LossyNetwork } from '../../support/lossy-network.ts';

const KEY = 'hourly';
const SLOTS = 'slots';
const FORCE = { by: 'ann', reason: 'stuck' };
const SKEW_MS = 1_000;
const LOCK_DELAY_MS = 10_000;
/** How long nothing of the operator's write arrives: less than its budget. */
const SILENT_MS = 3_000;

describe('a tenure that an operator ends', () => {
  test('closes its key for the lock-delay from the applied attempt, and reports it', async () => {
    const { world, operator, network, leaseCounter } = await heldKey(/:forced/);
    const firstSentAt = world.clock.now();
    network.fate = 'late';
    const released = operator.leasehold.locks.forceRelease(KEY, { ...FORCE, leaseCounter, lockDelay: LOCK_DELAY_MS });
    await passTime(world, world.clock.sleep(SILENT_MS));
    network.fate = 'none';

    const result = await passTime(world, released);

    const row = await world.row(lockKey(KEY));
    expect(row?.notBefore).toBeGreaterThanOrEqual(firstSentAt + SILENT_MS + LOCK_DELAY_MS);
    expect(row?.freedAt).toBe(Number(row?.notBefore) - LOCK_DELAY_MS);
    expect(row?.forced).toMatchObject({ at: row?.freedAt });
    expect(result).toMatchObject({ kind: 'released', closedUntil: Number(row?.notBefore) + SKEW_MS });
    expect(await network.deliver()).toBe(0);
    expect(await world.row(lockKey(KEY))).toEqual(row);
  });

  test('is known to be, although the answer was lost and the key was acquired before the next attempt', async () => {
    const { world, operator, network, leaseCounter } = await heldKey(/:forced/);
    const other = await world.start().leasehold.session({ ttl: '60s' });
    const next = other.lock(KEY, { wait: '60s' });
    network.fate = 'loseAnswer';

    const released = operator.leasehold.locks.forceRelease(KEY, { ...FORCE, leaseCounter, lockDelay: 0 });
    const { fencingToken } = await passTime(world, next);
    network.fate = 'none';

    expect(fencingToken).toBe(leaseCounter + 2);
    expect(await passTime(world, released)).toMatchObject({ kind: 'released', closedUntil: 0 });
  });

  test('is ended by only one of two calls of the same person, for any number of retries', async () => {
    const { world, operator, network, leaseCounter } = await heldKey(/:forced/);
    const force = ({ leasehold }: Process) =>
      leasehold.locks.forceRelease(KEY, { ...FORCE, leaseCounter, lockDelay: 0 });
    network.fate = 'late';
    const first = force(operator);
    await passTime(world, world.clock.sleep(1_700));

    expect(await passTime(world, force(elsewhere(world)))).toMatchObject({ kind: 'released' });
    network.fate = 'none';
    expect(await passTime(world, first)).toMatchObject({ kind: 'superseded' });
  });

  test('ends as of the attempt that was applied when its entry is deleted under its hands', async () => {
    const { world, operator, network } = await heldKey(/:freedAt/);
    const firstSentAt = world.clock.now();
    network.fate = 'late';
    const deleted = operator.leasehold.locks.delete(KEY, { evenIfHeld: true, lockDelay: LOCK_DELAY_MS });
    await passTime(world, world.clock.sleep(SILENT_MS));
    network.fate = 'none';

    const result = await passTime(world, deleted);
    const row = await world.row(lockKey(KEY));
    expect(result).toMatchObject({ kind: 'deleted', closedUntil: Number(row?.freedAt) + LOCK_DELAY_MS + SKEW_MS });
    expect(row?.freedAt).toBeGreaterThanOrEqual(firstSentAt + SILENT_MS);
    expect(await network.deliver()).toBe(0);
  });
});

describe('a permit that an operator evicts', () => {
  test.each([
    ['a live holder, told in a transaction', true],
    ['a holder that nothing can tell', false],
  ])('closes its room for the lock-delay from the attempt that was applied: %s', async (_, isLive) => {
    const { world, operator, network, permit, holder } = await heldPermit();
    if (!isLive) await damageSession(world, holder.id);
    const firstSentAt = world.clock.now();
    network.fate = 'late';
    const taken = operator.leasehold.semaphores.evict(SLOTS, { ...FORCE, token: permit, lockDelay: LOCK_DELAY_MS });
    await passTime(world, world.clock.sleep(SILENT_MS));
    network.fate = 'none';

    const evicted = await passTime(world, taken);

    const state = await operator.leasehold.semaphores.get(SLOTS);
    const at = Number(state?.lastEviction?.at);
    expect(at).toBeGreaterThanOrEqual(firstSentAt + SILENT_MS);
    expect(evicted?.closedUntil).toBe(at + LOCK_DELAY_MS);
    expect(await network.deliver()).toBe(0);
  });

  test('is recognized as evicted after a lost response, even if its holder released it before the next attempt', async () => {
    const { world, operator, network, permit, release } = await heldPermit();
    network.fate = 'loseAnswer';
    const taken = operator.leasehold.semaphores.evict(SLOTS, { ...FORCE, token: permit, lockDelay: LOCK_DELAY_MS });
    await passTime(world, world.clock.sleep(100));
    await release();
    network.fate = 'none';

    expect(await passTime(world, taken)).toMatchObject({ token: permit, closedUntil: 0 });
  });
});

test('evicts a permit by only one of two calls of the same person', async () => {
  const { world, operator, network, permit } = await heldPermit();
  const evict = ({ leasehold }: Process) => leasehold.semaphores.evict(SLOTS, { ...FORCE, token: permit });
  network.fate = 'late';
  const first = evict(operator);
  await passTime(world, world.clock.sleep(1_700));

  expect(await passTime(world, evict(elsewhere(world)))).toMatchObject({ token: permit });
  network.fate = 'none';
  expect(await passTime(world, first)).toBeUndefined();
});

/** The same person at another terminal, whose clock shows another time. */
function elsewhere(world: World): Process {
  const process = world.start();
  process.clockError.ms = 7;
  return process;
}

/** Makes its row unreadable, so its holder cannot be notified. */
async function damageSession(world: World, id: string): Promise<void> {
  const Item = { ...(await world.row(sessionKey(id))), renewals: 'damaged' };
  await world.driver.attempt('put', { TableName: world.table, Item }, new AbortController().signal);
}

/** A permit with a live holder, and an operator whose eviction may be lost. */
async function heldPermit() {
  const world = simulatedWorld();
  const operator = world.start();
  const holder = await world.start().leasehold.session({ ttl: '60s' });
  const permit = await holder.permit(SLOTS, { limit: 1 });
  const release = (): Promise<unknown> => permit.release();
  return {
    world,
    operator,
    holder,
    permit: permit.fencingToken,
    release,
    network: new LossyNetwork(operator, /:forced/),
  };
}

/** A key with a live holder, and an operator whose requests that match `which` may be lost. */
async function heldKey(which: RegExp) {
  const world = simulatedWorld();
  const operator = world.start();
  const holder = await world.start().leasehold.session({ ttl: '60s' });
  const { fencingToken: leaseCounter } = await holder.lock(KEY);
  return { world, operator, leaseCounter, network: new LossyNetwork(operator, which) };
}
