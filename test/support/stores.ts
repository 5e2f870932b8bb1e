/** Runs a suite against every DynamoDB that is a separate engine: AWS's emulator, and the embedded one. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, inject } from 'vitest';
import type { DynamoDriver } from '../../shared/dynamo/engine/driver.ts';
import type { Meter } from '../../shared/dynamo/engine/meter.ts';
import { createMeter } from '../../shared/dynamo/engine/meter.ts';
import { connectDynamo } from '../../shared/dynamo/connect.ts';
import { clientSettings } from '../../shared/dynamo/wire/sdk.ts';
import { Sender } from '../../shared/dynamo/engine/send.ts';
import { createDefinedTable, tableDefinition } from '../../shared/dynamo/table.ts';
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

type Engine = readonly [TestStore['engine'], endpoint: string | null];

let only: Engine | undefined;

/** From here on, suites of this file run on this engine, and on no other. Call it before they are imported. */
export function runOnly(engine: TestStore['engine'], endpoint: string | null): void {
  only = [engine, endpoint];
}

export function isOnMemory(): boolean {
  return only?.[0] === 'memory';
}

let openDriver = (endpoint: string): DynamoDriver | Promise<DynamoDriver> =>
  connectDynamo({ endpoint }, systemRuntime).driver;

/** From here on, suites of this file send through another driver. Call it before they are imported. */
export function runThrough(open: typeof openDriver): void {
  openDriver = open;
}

/**
 * @param suite is called once per engine; `open` gives the store within tests and hooks
 */
export function describeOnEveryStore(name: string, suite: (open: () => TestStore) => void): void {
  describeOn(['embedded', 'dynamodb-local'], name, suite);
}

/** Runs a suite on the embedded engine. On DynamoDB Local, which is slower, `test/drivers/dynamodb-local.full.test.ts` runs it. */
export function describeOnOneStore(name: string, suite: (open: () => TestStore) => void): void {
  describeOn([inject('embeddedEndpoint') === null ? 'dynamodb-local' : 'embedded'], name, suite);
}

function describeOn(
  kinds: readonly ('embedded' | 'dynamodb-local')[],
  name: string,
  suite: (open: () => TestStore) => void,
): void {
  const endpoints = { embedded: inject('embeddedEndpoint'), 'dynamodb-local': inject('dynamodbLocalEndpoint') };
  const engines: readonly Engine[] = only === undefined ? kinds.map((kind) => [kind, endpoints[kind]]) : [only];
  for (const [engine, endpoint] of engines) {
    describe.skipIf(endpoint === null)(`${name} on ${engine}`, () => {
      let store: TestStore | undefined;
      beforeAll(async () => {
        store = await openStore(engine, endpoint ?? '');
      });
      afterAll(() => {
        store?.client.destroy();
      });
      suite(() => {
        if (store === undefined) throw new Error('the store is open within tests and hooks only');
        return store;
      });
    });
  }
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
