/**
 * Runs a suite on the store that its tier asks for: here on the simulated one, and in the full tier `test/drivers` runs it on both engines,
 * AWS's emulator and the embedded one.
 */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { beforeAll, describe, inject } from 'vitest';
import { startMemoryEngine } from '../../local/engine/memory.ts';
import type { DynamoDriver } from '../../shared/dynamo/engine/driver.ts';
import type { Meter } from '../../shared/dynamo/engine/meter.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { clientSettings } from '../../shared/dynamo/wire/sdk.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createDefinedTable, tableDefinition } from '../../shared/dynamo/table.ts';
import { systemClock } from '../../shared/core/runtime/clock.ts';
import type { Runtime } from '../../shared/core/runtime/runtime.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { PATIENT } from './patient.ts';

export interface TestStore {
  readonly engine: 'dynamodb-local' | 'embedded' | 'memory';
  readonly driver: DynamoDriver;
  readonly client: DynamoDBClient;
  /** This file's own table, as the stack deploys it, but without its stream. */
  readonly table: string;
  /** A sender over the driver, or another one, with its own meter. */
  openSender(runtime?: Runtime, through?: DynamoDriver): { readonly sender: Sender; readonly meter: Meter };
}

/** Credentials that emulators take, as they take any. */
export const TEST_CLIENT_SETTINGS = {
  ...clientSettings,
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
} as const;

/** Without an endpoint, a suite starts its own; null: it cannot run here. */
type Engine = readonly [TestStore['engine'], endpoint: string | null | undefined];

/** As `STARTS_AT`. */
const STANDING = { ...systemClock, now: () => Date.parse('2026-03-01T12:00:00Z') };

let only: Engine | undefined;

/** From here on, suites of this file run on this engine, and on no other. Call it before they are imported. */
export function runOnly(engine: TestStore['engine'], endpoint: string | null): void {
  only = [engine, endpoint];
}

/** Whether {@link runOnly} chose the engine. */
export function isOnChosen(): boolean {
  return only !== undefined;
}

let openDriver = (endpoint: string): DynamoDriver | Promise<DynamoDriver> =>
  connectDynamo({ endpoint }, systemRuntime).driver;

/** From here on, suites of this file send through another driver. Call it before they are imported. */
export function runThrough(open: typeof openDriver): void {
  openDriver = open;
}

/** @param suite gets what gives the store within tests and hooks */
export function describeOnStore(name: string, suite: (open: () => TestStore) => void): void {
  describeOn(only ?? ['memory', undefined], name, suite);
}

/** Runs a suite on AWS's emulator, which is slower. */
export function describeOnEmulator(name: string, suite: (open: () => TestStore) => void): void {
  describeOn(only ?? ['dynamodb-local', inject('dynamodbLocalEndpoint')], name, suite);
}

function describeOn([engine, endpoint]: Engine, name: string, suite: (open: () => TestStore) => void): void {
  describe.skipIf(endpoint === null)(`${name} on ${engine}`, () => {
    let store: TestStore | undefined;
    beforeAll(async () => {
      // Its clock stands where the tests' clocks begin: by today's, their rows have been expired for long, and it would sweep them.
      const own = endpoint === undefined ? await startMemoryEngine(undefined, STANDING) : undefined;
      const opened = (store = await openStore(engine, own?.endpoint ?? endpoint ?? ''));
      return async () => {
        opened.client.destroy();
        await own?.stop();
      };
    });
    suite(() => {
      if (store === undefined) throw new Error('the store is open within tests and hooks only');
      return store;
    });
  });
}

async function openStore(engine: TestStore['engine'], endpoint: string): Promise<TestStore> {
  const client = new DynamoDBClient({ endpoint, ...TEST_CLIENT_SETTINGS });
  const table = `test-${systemRuntime.ids.unique()}`;
  // For each request to a table with a stream, DynamoDB Local reads the whole stream: half of its CPU time.
  // Streams are tested in test/unit/dynamo/table-stream.test.ts.
  await createDefinedTable(client, { ...tableDefinition(table), StreamSpecification: { StreamEnabled: false } });
  const driver = await openDriver(endpoint);
  return {
    engine,
    driver,
    client,
    table,
    openSender(runtime = systemRuntime, through = driver) {
      const meter = createMeter();
      const patience = runtime === systemRuntime ? { policy: PATIENT } : {};
      return { meter, sender: new Sender({ driver: through, runtime, observer: meter, ...patience }) };
    },
  };
}
