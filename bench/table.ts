/** An empty table for a bench: on an engine that is started for it, or in memory, in time that is simulated. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { EngineKind } from '../local/engine.ts';
import { startEngine } from '../local/engine.ts';
import type { DynamoDriver } from '../shared/dynamo/driver.ts';
import { clientSettings, createSdkDriver } from '../shared/dynamo/sdk-driver.ts';
import { createTable } from '../shared/dynamo/table.ts';
import type { Runtime } from '../shared/runtime/runtime.ts';
import { systemRuntime } from '../shared/runtime/runtime.ts';
import { memoryDynamo } from '../testing/memory-table.ts';
import { Network } from '../testing/simulation/network.ts';
import { Prng } from '../testing/simulation/prng.ts';
import { SimulatedProcess } from '../testing/simulation/process.ts';
import { Timeline } from '../testing/simulation/timeline.ts';
import { WallClock } from '../testing/simulation/wall-clock.ts';

export const TABLE = 'bench';

/** What a program of a bench runs on. */
export interface Place {
  readonly driver: DynamoDriver;
  readonly runtime: Runtime;
}

/** Where the programs of a bench meet. */
export interface World {
  /** A place of its own for each name, where time is simulated; else all are in this process. */
  placeOf(name: string): Place;
  /** Lets the time pass that the work takes. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export interface EngineTable extends AsyncDisposable {
  readonly client: DynamoDBClient;
  readonly world: World;
}

export async function openTable(kind: Exclude<EngineKind, 'endpoint'>, table = TABLE): Promise<EngineTable> {
  const engine = await startEngine({ kind });
  const client = new DynamoDBClient({
    endpoint: engine.endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
    ...clientSettings,
  });
  const close = async (): Promise<void> => {
    client.destroy();
    await engine.stop();
  };
  try {
    await createTable(client, table);
  } catch (error) {
    await close();
    throw error;
  }
  const place = { driver: createSdkDriver(client), runtime: systemRuntime };
  return { client, world: { placeOf: () => place, run: (work) => work() }, [Symbol.asyncDispose]: close };
}

/** DynamoDB answers small requests in a few milliseconds; this is half of one, there or back. */
const WAY_MS = { least: 1, most: 5 };
const SEED = 20_261_121n;
const EPOCH_MS = Date.UTC(2026, 10, 21);

/**
 * The exact DynamoDB in memory that tests use, behind a network that takes time and fails nobody.
 * Time passes when everybody waits, so sixteen workers are as fast as sixteen machines, and the figures are the same on any.
 */
export function simulatedWorld(table = TABLE): World {
  const timeline = new Timeline();
  const prng = new Prng(SEED);
  const store = memoryDynamo(table, () => EPOCH_MS + timeline.now);
  const ways = prng.fork('network');
  const network = new Network({
    ...{ timeline, store },
    fateOf: () => ({
      ending: 'answered',
      requestMs: ways.between(WAY_MS.least, WAY_MS.most),
      replyMs: ways.between(WAY_MS.least, WAY_MS.most),
    }),
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
