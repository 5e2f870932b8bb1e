/**
 * `npm run bench -- permits`: write units of a semaphore when each invocation has its own session, in simulated time.
 *
 * Each release leaves a mark in the row, so a late copy of a request cannot take a permit. This measures the price:
 * write units to acquire and release, with and without waiting; the largest row; and the units of one "full".
 */
import { Command } from 'commander';
import { itemSizeBytes } from '../shared/dynamo/engine/capacity.ts';
import type { DynamoItem } from '../shared/dynamo/engine/driver.ts';
import { semaphoreKey } from '../shared/dynamo/engine/keys.ts';
import type { Meter } from '../shared/dynamo/engine/meter.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import { Sender } from '../shared/dynamo/engine/send.ts';
import { createStores } from '../shared/client/stores.ts';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import { sessionTiming } from '../shared/core/lease/timing.ts';
import { acquirePermit, tryAcquirePermit } from '../shared/coordination/semaphore/acquire.ts';
import { SessionHolder } from '../shared/session/keep-alive.ts';
import { wholeNumber } from './arguments.ts';
import { measureFleets } from './permits-of-workers.ts';
import { print } from './figures.ts';
import type { Place } from './table.ts';
import { TABLE, simulatedWorld } from './table.ts';

interface Settings {
  readonly invocations: number;
  readonly minutes: number;
  readonly json: boolean;
}

interface Crowd {
  readonly what: string;
  /** Permits. */
  readonly limit: number;
  /** Waits for a permit; absent: tries once. */
  readonly wait: boolean;
  /** Mean time that a permit is held. */
  readonly heldMs: number;
}

interface Figures {
  readonly what: string;
  readonly acquired: number;
  readonly full: number;
  /** Units per session that acquired and released. */
  readonly unitsEach: number;
  /** Units per session that received "full". */
  readonly unitsEachFull: number;
  readonly requestsEach: number;
  readonly largestRowBytes: number;
}

const CROWDS: readonly Crowd[] = [
  { what: 'room for all', limit: 100, wait: true, heldMs: 2_000 },
  { what: 'most have to wait', limit: 3, wait: true, heldMs: 2_000 },
  { what: 'try once, many are told "full"', limit: 2, wait: false, heldMs: 2_000 },
];

export async function run(argv: readonly string[]): Promise<number> {
  const settings = parse(argv);
  const crowds: Figures[] = [];
  for (const crowd of CROWDS) crowds.push(await measure(crowd, settings));
  const fleets = await measureFleets();
  print({ ...settings, crowds, fleets }, settings.json);
  return 0;
}

async function measure(crowd: Crowd, { invocations, minutes }: Settings): Promise<Figures> {
  const world = simulatedWorld();
  const { driver, runtime } = world.placeOf('observer');
  const name = 'vendor';
  const counts = { acquired: 0, full: 0, largestRowBytes: 0 };
  const totals = { acquired: 0, full: 0, requests: 0 };
  const look = async (): Promise<void> => {
    const { Item } = await driver.attempt('get', { TableName: TABLE, Key: { ...semaphoreKey(name) } }, NEVER);
    counts.largestRowBytes = Math.max(counts.largestRowBytes, itemSizeBytes((Item ?? {}) as DynamoItem));
  };

  async function invoke(at: number): Promise<void> {
    const place = world.placeOf(`invocation ${at}`);
    const meter = createMeter();
    const { session, ports } = await open(place, meter);
    const { limit, wait } = crowd;
    const acquisition = await (wait ? acquirePermit : tryAcquirePermit)(name, { limit }, session, ports);
    if (acquisition.kind === 'acquired') {
      await place.runtime.clock.sleep((0.5 + place.runtime.random.next()) * crowd.heldMs);
      await acquisition.permit.release();
    }
    const { units, requests } = ofSemaphore(meter);
    counts[acquisition.kind]++;
    totals[acquisition.kind] += units;
    totals.requests += requests;
    await session.end();
    await look();
  }

  await world.run(async () => {
    const running: Promise<void>[] = [];
    for (let at = 0; at < invocations; at++) {
      await runtime.clock.sleep((2 * runtime.random.next() * minutes * 60_000) / invocations);
      running.push(invoke(at));
    }
    await Promise.all(running);
  });
  return {
    what: crowd.what,
    ...counts,
    unitsEach: totals.acquired / counts.acquired,
    unitsEachFull: counts.full === 0 ? 0 : totals.full / counts.full,
    requestsEach: totals.requests / invocations,
  };
}

const NEVER = new AbortController().signal;

async function open(place: Place, meter: Meter) {
  const { runtime } = place;
  const gauge = noSkewGauge;
  const stores = createStores(new Sender({ ...place, observer: meter }), { table: TABLE, shards: 8 });
  const options = { name: 'vendor-call', node: 'n', behaviour: 'release' as const, timing: sessionTiming({}) };
  const session = await SessionHolder.create(options, { store: stores.sessions, runtime, gauge });
  return { session, ports: { ...stores, runtime, gauge } };
}

function ofSemaphore(meter: Meter): { readonly units: number; readonly requests: number } {
  const verbs = Object.entries(meter.read().byVerb).filter(([verb]) => verb.startsWith('semaphore.'));
  return {
    units: verbs.reduce((sum, [, { writeUnits }]) => sum + writeUnits, 0),
    requests: verbs.reduce((sum, [, { requests }]) => sum + requests, 0),
  };
}

function parse(argv: readonly string[]): Settings {
  return new Command('permits')
    .description('Write units of a semaphore whose every contender has a session of its own.')
    .option('--invocations <n>', 'how many', wholeNumber(1), 2_000)
    .option('--minutes <n>', 'of simulated time, over which they come', wholeNumber(1), 30)
    .option('--json', 'the figures as one JSON object', false)
    .parse(argv, { from: 'user' })
    .opts<Settings>();
}
