/** An empty table for a bench: on an engine that is started for it, or in memory, in time that is simulated. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { EngineKind } from '../local/engine.ts';
import { startEngine } from '../local/engine.ts';
import { connectDynamo } from '../shared/dynamo/connect.ts';
import type { DynamoDriver } from '../shared/dynamo/engine/driver.ts';
import { createSdkDriver } from '../shared/dynamo/wire/sdk-driver.ts';
import { clientSettings } from '../shared/dynamo/wire/sdk.ts';
import type { Runtime } from '../shared/core/runtime/runtime.ts';
import { systemRuntime } from '../shared/core/runtime/runtime.ts';
import { memoryDynamo } from '../shared/testing/memory-table.ts';
import { Network } from '../test/support/machines/network.ts';
import { Prng } from '../test/support/machines/prng.ts';
import { SimulatedProcess } from '../test/support/machines/process.ts';
import { ServiceLimits } from '../test/support/machines/service-limits.ts';
import { Timeline } from '../test/support/machines/timeline.ts';
import { WallClock } from '../test/support/machines/wall-clock.ts';
import { createSilentTable } from './silent-table.ts';

export const TABLE = 'bench';

/** The runtime and stores of one bench program. */
export interface Place {
  readonly driver: DynamoDriver;
  readonly runtime: Runtime;
}

/** The world shared by the programs of a bench. */
export interface World {
  /** A place of its own for each name, where time is simulated; else all are in this process. */
  placeOf(name: string): Place;
  /** Lets the time pass that the work takes. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export interface EngineTable extends AsyncDisposable {
  readonly client: DynamoDBClient;
  /** One of each, over the same engine. */
  readonly drivers: Readonly<Record<'wire' | 'sdk', DynamoDriver>>;
  readonly world: World;
}

export async function openTable(kind: Exclude<EngineKind, 'endpoint'>, table = TABLE): Promise<EngineTable> {
  const engine = await startEngine({ kind, isBare: true });
  const client = clientFor(engine.endpoint);
  const close = async (): Promise<void> => {
    client.destroy();
    await engine.stop();
  };
  try {
    await createSilentTable(client, table);
  } catch (error) {
    await close();
    throw error;
  }
  const { driver: wire } = connectDynamo({ endpoint: engine.endpoint }, systemRuntime);
  const drivers = { wire, sdk: createSdkDriver(client) };
  return { client, drivers, world: worldOver(wire), [Symbol.asyncDispose]: close };
}

/** The SDK's client of a local engine. */
export function clientFor(endpoint: string): DynamoDBClient {
  return new DynamoDBClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
    ...clientSettings,
  });
}

/** Everything in this process, over one driver. */
export function worldOver(driver: DynamoDriver): World {
  const place = { driver, runtime: systemRuntime };
  return { placeOf: () => place, run: (work) => work() };
}

interface ServiceOptions {
  readonly conflicts?: boolean;
  readonly writeUnits?: boolean;
  readonly readUnits?: boolean;
  /** The number of each place. Default: unlimited. */
  readonly connections?: number;
  /** Default: `REQUEST_MS`. */
  readonly requestMs?: number;
  /** Requests that are lost. Default: none. */
  readonly isLost?: (input: object) => boolean;
}

/** DynamoDB answers small requests in a few milliseconds. */
const REQUEST_MS = 6;
const SEED = 20_261_121n;
const EPOCH_MS = Date.UTC(2026, 10, 21);

/**
 * The exact DynamoDB in memory that tests use, behind a network that takes time, and loses nothing unless told to.
 * Time passes when everybody waits, so sixteen workers are as fast as sixteen machines, and the figures are the same on any.
 * @param service what DynamoDB refuses by itself (default: nothing), and the network
 */
export function simulatedWorld(service: ServiceOptions = {}): World {
  const { conflicts = false, writeUnits = false, readUnits = false } = service;
  const { connections, requestMs = REQUEST_MS, isLost } = service;
  const timeline = new Timeline();
  /** Each way takes between a sixth and five sixths of a request. */
  const wayMs = (): number => ways.between(requestMs / 6, (5 * requestMs) / 6);
  const prng = new Prng(SEED);
  const limits = new ServiceLimits(timeline, { conflicts, writeUnits, readUnits });
  const store = memoryDynamo(
    TABLE,
    () => EPOCH_MS + timeline.now,
    (before, after) => limits.wrote(before, after),
  );
  const ways = prng.fork('network');
  const network = new Network({
    timeline,
    store,
    limits,
    fateOf: ({ input }) => ({
      ending: isLost?.(input) === true ? 'requestLost' : 'answered',
      requestMs: wayMs(),
      replyMs: wayMs(),
    }),
    connections,
  });
  return {
    placeOf(name) {
      const wall = new WallClock({ epochMs: EPOCH_MS, offsetMs: 0, drift: 0 });
      const random = prng.fork(name);
      let made = 0;
      const unique = (): string => `${name}-${++made}-${random.integer(0, 2 ** 48).toString(36)}`;
      const ids = { unique, ordered: unique };
      const process = new SimulatedProcess({ name, timeline, wall, random, ids });
      return { driver: network.driverOf(process), runtime: process.runtime };
    },
    async run(work) {
      const state = { isOver: false };
      const over = (): void => {
        state.isOver = true;
      };
      const result = work();
      result.then(over, over);
      while (!state.isOver) await timeline.run(() => state.isOver);
      return result;
    },
  };
}
