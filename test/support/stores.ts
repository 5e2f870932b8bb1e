/** Runs a suite against every DynamoDB that is an engine of its own: AWS's emulator, and the embedded one. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, inject } from 'vitest';
import type { DynamoDriver } from '../../shared/dynamo/driver.ts';
import type { Meter } from '../../shared/dynamo/meter.ts';
import { createMeter } from '../../shared/dynamo/meter.ts';
import { clientSettings, createSdkDriver } from '../../shared/dynamo/sdk-driver.ts';
import { Sender } from '../../shared/dynamo/send.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import type { Runtime } from '../../shared/runtime/runtime.ts';
import { systemRuntime } from '../../shared/runtime/runtime.ts';

export interface TestStore {
  readonly engine: 'dynamodb-local' | 'embedded';
  readonly driver: DynamoDriver;
  readonly client: DynamoDBClient;
  /** A table of this file's own, as the stack deploys it. */
  readonly table: string;
  /** A sender over the driver, with its own meter. */
  openSender(runtime?: Runtime): { readonly sender: Sender; readonly meter: Meter };
}

/** Credentials that emulators take, as they take any. */
export const TEST_CLIENT_SETTINGS = {
  ...clientSettings,
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
} as const;

/**
 * @param suite is called once per engine; `open` gives the store within tests and hooks
 */
export function describeOnEveryStore(name: string, suite: (open: () => TestStore) => void): void {
  const engines = [
    ['dynamodb-local', inject('dynamodbLocalEndpoint')],
    ['embedded', inject('embeddedEndpoint')],
  ] as const;
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
  await createTable(client, table);
  const driver = createSdkDriver(client);
  return {
    ...{ engine, driver, client, table },
    openSender(runtime = systemRuntime) {
      const meter = createMeter();
      return { meter, sender: new Sender({ driver, runtime, observer: meter }) };
    },
  };
}
