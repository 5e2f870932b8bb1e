/**
 * A crowd of processes over one table, each with its own clock.
 * A process whose clock stops has crashed, as far as others can tell: it renews nothing, and its timers never fire.
 */
import { beforeEach, describe } from 'vitest';
import type { DynamoDriver, DynamoItem } from '../../shared/dynamo/engine/driver.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { createRateLimitStore } from '../../shared/coordination/ratelimit/row/dynamo-ratelimit-store.ts';
import { createSemaphoreStore } from '../../shared/coordination/semaphore/row/dynamo-semaphore-store.ts';
import type { SendObserver } from '../../shared/dynamo/engine/send.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createSessionStore } from '../../shared/session/row/dynamo-session-store.ts';
import { createWaitGroupStore } from '../../shared/coordination/waitgroup/row/dynamo-waitgroup-store.ts';
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import type { SessionTiming } from '../../shared/core/lease/timing.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import type { RateLimitPorts } from '../../shared/coordination/ratelimit/rate-limiter.ts';
import { systemIds } from '../../shared/core/runtime/ids.ts';
import type { Random } from '../../shared/core/runtime/random.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import type { PermitAcquisition } from '../../shared/coordination/semaphore/acquire.ts';
import { SemaphoreClient } from '../../shared/coordination/semaphore/semaphore-client.ts';
import type { SemaphorePorts } from '../../shared/coordination/semaphore/semaphore-contender.ts';
import type { Permit } from '../../shared/coordination/semaphore/permit.ts';
import { SessionHolder } from '../../shared/session/keep-alive.ts';
import type { WaitPorts } from '../../shared/coordination/waitgroup/wait-for-members.ts';
import { Prng } from './machines/prng.ts';
import { STARTS_AT, simulatedWorld } from './coordination.ts';
import { FaultyDriver } from './faulty-driver.ts';
import { ManualClock } from './manual-clock.ts';
import { describeOnStore, isOnChosen } from './stores.ts';
import type { Cost } from './traffic.ts';
import { Traffic, costOf, passTimeUntil } from './traffic.ts';

export const SKEW_MS = 100;
export const TTL_MS = 10_000;
/** When others may find a session dead that was created at the start and never renewed. */
export const DEAD_AFTER_MS = TTL_MS + SKEW_MS;
const SEED = 20_261_123n;

export interface Member {
  readonly clock: ManualClock;
  readonly ports: SemaphorePorts & WaitPorts & RateLimitPorts;
  readonly semaphores: SemaphoreClient;
  readonly driver: FaultyDriver;
  /** Whether units of transactions follow our own capacity model; emulators calculate them differently. */
  readonly hasExactUnits: boolean;
  session(timing?: Partial<SessionTiming>): Promise<SessionHolder>;
  costOf(work: () => Promise<unknown>): Promise<Omit<Cost, 'verbs'>>;
  /** Moves the clock until the promise is settled, pausing it for every answer of the store. */
  live<T>(promise: Promise<T>, stepMs?: number): Promise<T>;
}

/** @param onRow sees every row that a write of this process leaves behind */
type Start = (onRow?: (row: DynamoItem) => void) => Member;

/**
 * Runs a suite on the simulated store, in the full tier on engines.
 * `start` begins a process, all at the same moment.
 */
export function describeCrowd(name: string, suite: (start: Start) => void): void {
  if (isOnChosen())
    describeOnStore(name, (open) => {
      const draws = drawsOfEachTest();
      suite((onRow) =>
        startMember(open().driver, { table: open().table, hasExactUnits: false, random: draws(), onRow }),
      );
    });
  else
    describe(`${name} on the simulated store`, () => {
      const draws = drawsOfEachTest();
      const { driver, table } = simulatedWorld();
      suite((onRow) => startMember(driver, { table, hasExactUnits: true, random: draws(), onRow }));
    });
}

/** Each process of a test has its own draws, the same in every run, also when the test runs alone, so tests are repeatable. */
function drawsOfEachTest(): () => Random {
  let started = 0;
  beforeEach(() => {
    started = 0;
  });
  return () => new Prng(SEED).fork(String(++started));
}

export async function acquired(acquisition: Promise<PermitAcquisition>): Promise<Permit> {
  const found = await acquisition;
  if (found.kind !== 'acquired') throw new Error(`expected a permit, and all ${found.limit} are taken`);
  return found.permit;
}

/** As many holders, of a process that crashes as soon as they are in. */
export async function fillWithCrashed(
  start: Start,
  semaphore: string,
  limit: number,
  timing: Partial<SessionTiming> = {},
): Promise<Permit[]> {
  const crashed = start();
  const permits: Permit[] = [];
  for (let n = 0; n < limit; n++) {
    const session = await crashed.session(timing);
    permits.push(await acquired(crashed.semaphores.tryAcquire(session, semaphore, { limit })));
  }
  return permits;
}

interface MemberOptions {
  readonly table: string;
  readonly hasExactUnits: boolean;
  readonly random: Random;
  readonly onRow: ((row: DynamoItem) => void) | undefined;
}

function startMember(store: DynamoDriver, { table, hasExactUnits, random, onRow }: MemberOptions): Member {
  const clock = new ManualClock(STARTS_AT);
  const runtime: Runtime = { ids: systemIds, random, clock };
  const traffic = new Traffic(store);
  const driver = new FaultyDriver(traffic);
  const meter = createMeter();
  const observer: SendObserver = {
    onAttempt(attempt) {
      meter.onAttempt(attempt);
      if (attempt.output !== undefined && 'Attributes' in attempt.output) onRow?.(attempt.output.Attributes ?? {});
    },
  };
  const sender = new Sender({ driver, runtime, observer });
  const ports = {
    runtime,
    gauge: noSkewGauge,
    sessions: createSessionStore(sender, table),
    semaphores: createSemaphoreStore(sender, table),
    groups: createWaitGroupStore(sender, table),
    buckets: createRateLimitStore(sender, table),
  };
  return {
    clock,
    ports,
    driver,
    hasExactUnits,
    semaphores: new SemaphoreClient(ports, { maxClockSkewMs: SKEW_MS }),
    session(given = {}) {
      const timing = sessionTiming({ ttlMs: TTL_MS, lockDelayMs: 0, maxClockSkewMs: SKEW_MS, ...given });
      const options = { timing, name: 'test', node: 'here', behaviour: 'release' } as const;
      return SessionHolder.create(options, { store: ports.sessions, runtime, gauge: noSkewGauge });
    },
    async costOf(work) {
      const { requests, writeUnits, readUnits } = await costOf(meter, work);
      return { requests, writeUnits, readUnits };
    },
    live: (promise, stepMs = 50) => passTimeUntil(promise, { clock, traffic, stepMs }),
  };
}
