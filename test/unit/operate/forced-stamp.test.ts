/**
 * A tenure that an operator ends: each attempt states its own time, because the holder may still trust its lease until one of them arrives.
 */
import { describe, expect, test } from 'vitest';
import { lockKey } from '../../../shared/dynamo/engine/keys.ts';
import type { Process, World } from '../../support/coordination.ts';
import { passTime, simulatedWorld } from '../../support/coordination.ts';
import { LossyNetwork } from '../../support/lossy-network.ts';

const KEY = 'hourly';
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
});

/** The same person at another terminal, whose clock shows another time. */
function elsewhere(world: World): Process {
  const process = world.start();
  process.clockError.ms = 7;
  return process;
}

/** A key with a live holder, and an operator whose requests that match `which` may be lost. */
async function heldKey(which: RegExp) {
  const world = simulatedWorld();
  const operator = world.start();
  const holder = await world.start().leasehold.session({ ttl: '60s' });
  const { fencingToken: leaseCounter } = await holder.lock(KEY);
  return { world, operator, leaseCounter, network: new LossyNetwork(operator, which) };
}
