/**
 * A small world for tests about sessions, locks and elections: one table, one clock that the test moves, and any number of processes.
 * A process is a separate Leasehold: own connection, own meter, own accidents, own wall clock.
 */
import { setImmediate as drained } from 'node:timers/promises';
import type { DynamoCalls, DynamoDriver, DynamoItem, DynamoKind } from '../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../shared/dynamo/engine/driver.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import type { SendObserver } from '../../shared/dynamo/engine/send.ts';
import { grantFor } from '../../shared/dynamo/engine/grant-for.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import type { LeaseholdSettings } from '../../shared/client/leasehold.ts';
import { Leasehold } from '../../shared/client/leasehold.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import type { Stores } from '../../shared/client/stores.ts';
import { createStores } from '../../shared/client/stores.ts';
import { DEFAULT_SHARDS } from '../../shared/tasks/task/task.ts';
import { durationMs } from '../../shared/core/validate/duration.ts';
import { systemIds } from '../../shared/core/runtime/ids.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { memoryDynamo } from '../../shared/testing/memory-table.ts';
import type { SimulatedDynamo } from '../../shared/testing/simulated-dynamo/simulated-dynamo.ts';
import { simulatedDriver } from '../../shared/testing/simulated-dynamo/driver.ts';
import { Prng } from './machines/prng.ts';
import { FaultyDriver } from './faulty-driver.ts';
import { ManualClock } from './manual-clock.ts';
import type { Cost } from './traffic.ts';
import { Traffic, costOf, passTimeUntil } from './traffic.ts';

export const STARTS_AT = '2026-03-01T12:00:00Z';
const SEED = 20_260_301n;

export interface Process {
  readonly leasehold: Leasehold;
  /** Ports for building more on it. */
  readonly ports: Stores & Pick<ConstructorParameters<typeof Leasehold>[0], 'runtime' | 'gauge'>;
  readonly maxClockSkewMs: number;
  readonly runtime: Runtime;
  readonly driver: FailingDriver;
  readonly sender: Sender;
  /** Milliseconds by which this process's wall clock is ahead; may be changed at any time. */
  readonly clockError: { ms: number };
  /** The skew of its own clock that its gauge proves. */
  readonly provenSkew: { ms: number };
  /** Returns the cost of `work` in requests and units. */
  cost(work: () => Promise<unknown>): Promise<Cost>;
}

/** Lets time pass until `work` has settled. */
export function passTime<T>({ clock, traffic }: World, work: Promise<T>, stepMs = 100): Promise<T> {
  return passTimeUntil(work, { clock, traffic, stepMs });
}

/** Has accidents first, and may then be away altogether. */
class FailingDriver extends FaultyDriver {
  isDown = false;

  override async attempt<K extends DynamoKind>(
    kind: K,
    input: DynamoCalls[K]['input'],
    signal: AbortSignal,
  ): Promise<DynamoCalls[K]['output']> {
    if (this.isDown && this.accidents.length === 0)
      throw new DynamoFault('unanswered', { code: 'TimeoutError', message: 'no answer' });
    return super.attempt(kind, input, signal);
  }
}

export interface World {
  readonly clock: ManualClock;
  readonly table: string;
  /** Whether units follow our own capacity model; emulators calculate them differently. */
  readonly hasExactUnits: boolean;
  /** @param chance by default each process has its own draws, the same in every run, so tests are repeatable */
  start(options?: Partial<LeaseholdSettings>, chance?: Pick<Runtime, 'ids' | 'random'>): Process;
  /** A row as it is stored. */
  row(key: { readonly pk: string; readonly sk: string }): Promise<DynamoItem | undefined>;
  /** Not of any process: has no accidents, and is not counted. */
  readonly driver: DynamoDriver;
  /** Are told of every attempt of every process. */
  readonly observers: SendObserver[];
  /** Requests of all processes. */
  readonly traffic: Traffic;
  /** Resolves when no request is under way. */
  idle(): Promise<void>;
}

/** A world that holds nothing yet and answers at once: for tests in which time passes. */
export function simulatedWorld(): World & {
  readonly rows: () => readonly DynamoItem[];
  readonly store: SimulatedDynamo;
} {
  const clock = new ManualClock(STARTS_AT);
  const store = memoryDynamo('leasehold', () => clock.now());
  return { ...worldOn(simulatedDriver(store), 'leasehold', true, clock), rows: () => store.scan('leasehold'), store };
}

/** A world over any table; its time passes only as the test says. */
export function worldOn(
  driver: DynamoDriver,
  table: string,
  hasExactUnits: boolean,
  clock = new ManualClock(STARTS_AT),
): World {
  const traffic = new Traffic(driver);
  const observers: SendObserver[] = [];
  const prng = new Prng(SEED);
  let started = 0;
  return {
    clock,
    table,
    hasExactUnits,
    driver,
    observers,
    traffic,
    start: (options = {}, chance = { ids: systemIds, random: prng.fork(String(++started)) }) =>
      startProcess({ driver: traffic, clock, observers }, { table, ...options }, chance),
    idle: () => traffic.rests(),
    async row(key) {
      const { Item } = await driver.attempt(
        'get',
        { TableName: table, Key: { ...key }, ConsistentRead: true },
        new AbortController().signal,
      );
      return Item;
    },
  };
}

function startProcess(
  { driver, clock, observers }: Pick<World, 'driver' | 'clock' | 'observers'>,
  options: LeaseholdSettings,
  chance: Pick<Runtime, 'ids' | 'random'>,
): Process {
  const clockError = { ms: 0 };
  const provenSkew = { ms: 0 };
  const faulty = new FailingDriver(driver);
  const runtime: Runtime = {
    clock: {
      now: () => clock.now() + clockError.ms,
      monotonic: () => clock.monotonic(),
      // The pauses between attempts are cut to nothing: a test that is not about them need not move the clock.
      sleep: (ms, signal) => (ms <= 0 ? drained() : clock.sleep(Math.ceil(ms), signal)),
      after: (ms, call) => clock.after(Math.ceil(ms), call),
    },
    ...chance,
  };
  const meter = createMeter();
  const policy = { attemptTimeoutMs: 1_500, budgetMs: 8_000, backoff: { baseMs: 1, capMs: 1 } };
  const observer: SendObserver = {
    onAttempt(attempt) {
      for (const each of [meter, ...observers]) each.onAttempt(attempt);
    },
  };
  const sender = new Sender({ driver: faulty, runtime, observer, policy, grantFor });
  const gauge = { provenSkewMs: () => provenSkew.ms };
  const leasehold = new Leasehold({ sender, runtime, gauge }, options);
  const stores = createStores(sender, { table: options.table, shards: DEFAULT_SHARDS });
  const { maxClockSkewMs } = sessionTiming(
    options.maxClockSkew === undefined ? {} : { maxClockSkewMs: durationMs('maxClockSkew', options.maxClockSkew) },
  );
  return {
    leasehold,
    ports: { ...stores, runtime, gauge },
    maxClockSkewMs,
    runtime,
    sender,
    driver: faulty,
    clockError,
    provenSkew,
    cost: (work) => costOf(meter, work),
  };
}
