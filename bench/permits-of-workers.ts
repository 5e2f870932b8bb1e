/** The permits of a queue's workers, at several sizes: the price of a start with its end, of a burst, of the last permit and of "full". */
import { createStores } from '../shared/client/stores.ts';
import { sessionTiming } from '../shared/core/lease/timing.ts';
import { noSkewGauge } from '../shared/core/lease/skew.ts';
import type { PermitAcquisition } from '../shared/coordination/semaphore/acquire.ts';
import { tryFleetPermit } from '../shared/coordination/semaphore/acquire.ts';
import { SemaphoreClient } from '../shared/coordination/semaphore/semaphore-client.ts';
import type { MeterReading } from '../shared/dynamo/engine/meter.ts';
import { createMeter } from '../shared/dynamo/engine/meter.ts';
import { Sender } from '../shared/dynamo/engine/send.ts';
import { SessionHolder } from '../shared/session/keep-alive.ts';
import { workersSemaphore } from '../shared/tasks/dispatch/dispatcher.ts';
import { percentile } from './figures.ts';
import type { World } from './table.ts';
import { TABLE, simulatedWorld } from './table.ts';

/** Of one worker, by its permits and the sessions that it judges. */
export interface Price {
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly requests: number;
}

export interface FleetFigures {
  readonly workers: number;
  /**
   * Starts with their ends, 100 of them a second (10 in a fleet of ten), while about nine tenths of the permits are taken: mean of each,
   * and most requests of one start.
   */
  readonly churn: Price & {
    readonly p99Requests: number;
    readonly mostRequests: number;
    readonly startsPerSecond: number;
  };
  /** All start at the same moment. */
  readonly burst: Price & { readonly mostRequests: number; readonly admitted: number };
  readonly last: Price;
  readonly full: Price;
}

const SIZES = [10, 100, 500, 1_000];
const STARTS_PER_SECOND = 100;
const STARTS = 1_000;

export async function measureFleets(): Promise<readonly FleetFigures[]> {
  const all: FleetFigures[] = [];
  for (const workers of SIZES) all.push(await measure(workers));
  return all;
}

async function measure(workers: number): Promise<FleetFigures> {
  const world = simulatedWorld({ conflicts: true, writeUnits: true, readUnits: true });
  const { runtime } = world.placeOf('observer');
  const perSecond = Math.min(workers, STARTS_PER_SECOND);
  const heldMs = (0.9 * workers * 1_000) / perSecond;
  return world.run(async () => {
    await declare(world, 'churn', workers);
    const churned: Promise<Started>[] = [];
    const beganAt = runtime.clock.monotonic();
    for (let at = 0; at < STARTS + (workers * 9) / 10; at++) {
      await runtime.clock.sleep(1_000 / perSecond);
      churned.push(
        begin(world, `churn ${at}`, { queue: 'churn', limit: workers }, (0.5 + runtime.random.next()) * heldMs),
      );
    }
    const spanMs = runtime.clock.monotonic() - beganAt;
    // Without the beginning, in which the fleet fills.
    const whole = (await Promise.all(churned)).slice(-STARTS).filter(({ kind }) => kind === 'acquired');
    await declare(world, 'burst', workers);
    const burst = await Promise.all(
      Array.from({ length: workers }, (_, at) => begin(world, `burst ${at}`, { queue: 'burst', limit: workers }, 0)),
    );
    await declare(world, 'filled', workers);
    const release = Promise.withResolvers<undefined>();
    const filled: Promise<Started>[] = [];
    for (let at = 1; at < workers; at++) {
      filled.push(begin(world, `filled ${at}`, { queue: 'filled', limit: workers }, release.promise));
      await runtime.clock.sleep(20);
    }
    const last = await begin(world, 'last', { queue: 'filled', limit: workers }, 0);
    filled.push(begin(world, 'again', { queue: 'filled', limit: workers }, release.promise));
    await runtime.clock.sleep(500);
    const full = await begin(world, 'full', { queue: 'filled', limit: workers }, 0);
    release.resolve(undefined);
    await Promise.all(filled);
    if (last.kind !== 'acquired' || full.kind !== 'full')
      throw new Error(`the last: ${last.kind}, the next: ${full.kind}`);
    return {
      workers,
      churn: {
        ...meanOf(whole),
        p99Requests: percentile(
          whole.map((one) => one.startRequests),
          0.99,
        ),
        mostRequests: mostOf(whole),
        startsPerSecond: (churned.length * 1_000) / spanMs,
      },
      burst: {
        ...meanOf(burst),
        mostRequests: mostOf(burst),
        admitted: burst.filter(({ kind }) => kind === 'acquired').length,
      },
      last: last.whole,
      full: full.whole,
    };
  });
}

interface Started {
  readonly kind: PermitAcquisition['kind'];
  readonly startRequests: number;
  /** With the end. */
  readonly whole: Price;
}

async function begin(
  world: World,
  name: string,
  { queue, limit }: { readonly queue: string; readonly limit: number },
  held: number | Promise<unknown>,
): Promise<Started> {
  const place = world.placeOf(name);
  const { runtime } = place;
  const meter = createMeter();
  const gauge = noSkewGauge;
  const stores = createStores(new Sender({ ...place, observer: meter }), { table: TABLE, shards: 8 });
  const options = {
    name: 'worker',
    node: 'n',
    behaviour: 'release' as const,
    timing: sessionTiming({}),
    listed: false,
  };
  const session = await SessionHolder.create(options, { store: stores.sessions, runtime, gauge });
  const acquisition = await tryFleetPermit(queue, { limit }, session, { ...stores, runtime, gauge });
  const startRequests = priceOf(meter.read()).requests;
  await (typeof held === 'number' ? runtime.clock.sleep(held) : held);
  if (acquisition.kind === 'acquired') await acquisition.permit.release();
  const whole = priceOf(meter.read());
  await session.end();
  return { kind: acquisition.kind, startRequests, whole };
}

async function declare(world: World, queue: string, limit: number): Promise<void> {
  const place = world.placeOf('observer');
  const stores = createStores(new Sender(place), { table: TABLE, shards: 8 });
  const ports = { ...stores, runtime: place.runtime, gauge: noSkewGauge };
  await new SemaphoreClient(ports, sessionTiming({})).declareLimit(workersSemaphore(queue), limit);
}

/** The worker's own session costs the same at any size. */
function priceOf({ byVerb }: MeterReading): Price {
  const used = Object.entries(byVerb).filter(([verb]) => verb.startsWith('semaphore.') || verb === 'session.getMany');
  const sum = (what: keyof Price): number => used.reduce((all, [, figures]) => all + figures[what], 0);
  return { writeUnits: sum('writeUnits'), readUnits: sum('readUnits'), requests: sum('requests') };
}

function meanOf(all: readonly Started[]): Price {
  const mean = (what: keyof Price): number => all.reduce((sum, { whole }) => sum + whole[what], 0) / all.length;
  return { writeUnits: mean('writeUnits'), readUnits: mean('readUnits'), requests: mean('requests') };
}

function mostOf(all: readonly Started[]): number {
  return Math.max(...all.map(({ startRequests }) => startRequests));
}
