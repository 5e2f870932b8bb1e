/**
 * From a release in one process to the acquisition in another, and the reads of waiters: the shipped clients in simulated time,
 * and in real time on the engine of the bench.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Leasehold, createLeasehold } from '../../shared/client/leasehold.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { percentile } from '../figures.ts';
import { TABLE as SIMULATED, simulatedWorld } from '../table.ts';
import { TABLE } from './contestants.ts';

export interface Handover {
  readonly handovers: number;
  readonly p50: number;
  readonly p90: number;
}

/** How long a holder keeps its lock, more or less a third. */
const HELD_MS = 6_000;
const AT_ONCE = 200;
const heldMs = (draw: number): number => HELD_MS * (0.7 + 0.6 * draw);

export async function handoversInSimulatedTime(handovers: number): Promise<Handover> {
  const world = simulatedWorld();
  const start = (name: string) => {
    const { driver, runtime } = world.placeOf(name);
    return { runtime, leasehold: leaseholdOf({ driver, runtime }) };
  };
  const { clock, random } = start('draws').runtime;
  const one = async (nth: number): Promise<number> => {
    const [holder, waiter] = [start(`holder ${nth}`), start(`waiter ${nth}`)];
    await clock.sleep(random.next() * HELD_MS);
    return handOver(holder.leasehold, waiter.leasehold, `key ${nth}`, {
      now: () => clock.monotonic(),
      hold: () => clock.sleep(heldMs(random.next())),
    });
  };
  const times: number[] = [];
  await world.run(async () => {
    while (times.length < handovers) {
      const some = Math.min(AT_ONCE, handovers - times.length);
      times.push(...(await Promise.all(Array.from({ length: some }, (_, nth) => one(times.length + nth)))));
    }
  });
  return figuresOf(times);
}

export async function handoversOnEngine(endpoint: string, handovers: number): Promise<Handover> {
  const start = (): Leasehold => createLeasehold({ table: TABLE, endpoint });
  const one = async (_: unknown, nth: number): Promise<number> => {
    using holder = start();
    using waiter = start();
    return await handOver(holder, waiter, `handed over ${nth}`, {
      now: () => performance.now(),
      hold: () => sleep(heldMs(Math.random())),
    });
  };
  return figuresOf(await Promise.all(Array.from({ length: handovers }, one)));
}

/** Read units a second of this many waiters for one key, each in a separate process, once their pauses have grown. */
export async function readsOfWaiters(waiters: number): Promise<number> {
  const world = simulatedWorld();
  const meter = createMeter();
  const begin = async (name: string) => {
    const place = world.placeOf(name);
    return leaseholdOf(place, meter).session({ ttl: '10m', heartbeat: '3m' });
  };
  const { clock } = world.placeOf('observer').runtime;
  const [warmUpMs, measuredMs] = [20_000, 60_000];
  return world.run(async () => {
    const holder = await begin('holder');
    await holder.lock('wanted');
    const stop = new AbortController();
    const sessions = await Promise.all(Array.from({ length: waiters }, (_, nth) => begin(`waiter ${nth}`)));
    const waiting = sessions.map((session) => session.lock('wanted', { signal: stop.signal }).catch(() => undefined));
    await clock.sleep(warmUpMs);
    const before = meter.read().readUnits;
    await clock.sleep(measuredMs);
    const read = meter.read().readUnits - before;
    stop.abort();
    await Promise.all(waiting);
    await Promise.all([holder, ...sessions].map((session) => session.end()));
    return (1_000 * read) / measuredMs;
  });
}

interface Time {
  readonly now: () => number;
  readonly hold: () => Promise<unknown>;
}

/** @returns milliseconds from the call of `release` */
async function handOver(one: Leasehold, other: Leasehold, key: string, { now, hold }: Time): Promise<number> {
  await using holder = await one.session({ ttl: '30s' });
  await using waiter = await other.session({ ttl: '30s' });
  const lock = await holder.lock(key);
  const handed = waiter.lock(key, { wait: '60s' }).then(() => now());
  await hold();
  const releasedAt = now();
  await lock.release();
  return (await handed) - releasedAt;
}

function leaseholdOf(
  { driver, runtime }: ReturnType<ReturnType<typeof simulatedWorld>['placeOf']>,
  meter?: ReturnType<typeof createMeter>,
): Leasehold {
  const sender = new Sender({ driver, runtime, observer: meter });
  return new Leasehold({ sender, runtime, gauge: noSkewGauge }, { table: SIMULATED });
}

function figuresOf(times: readonly number[]): Handover {
  return { handovers: times.length, p50: percentile(times, 0.5), p90: percentile(times, 0.9) };
}
