/**
 * A deployment to be tormented: the local Lambda with the real handlers,
 * behind the fault proxy; its tables, reached by the harness past the proxy.
 */
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ENV } from '../../functions/env.ts';
import { LocalLambda } from '../../examples/platform/lambda/local-lambda.ts';
import type { Emit } from '../../examples/platform/lambda/events.ts';
import type { FunctionSettings } from '../../examples/platform/lambda/function-settings.ts';
import { TASKS_ENTRY_VARIABLE } from '../../examples/platform/worker-entry-variable.ts';
import { clientSettings } from '../../shared/dynamo/wire/sdk.ts';
import { createTable } from '../../shared/dynamo/table.ts';
import { FaultProxy } from './proxy.ts';
import { FLEET, PROTOCOL } from './profile.ts';
import { Prng } from '../../test/support/machines/prng.ts';
import { SETTINGS_VARIABLE } from './worker-settings.ts';
import type { WorkerSettings } from './worker-settings.ts';

export const FUNCTIONS = {
  dispatch: 'chaos-dispatch',
  work: 'chaos-work',
  /** The worker with a timeout that is too short and no deadline margin. */
  reckless: 'chaos-reckless',
  register: 'chaos-register',
} as const;

export const QUEUE = 'chaos';
export const SHARDS = 4;
const WORKER_TIMEOUT_MS = 20_000;
const DEADLINE_MARGIN_MS = 3_000;
const RECKLESS_TIMEOUT_MS = 3_500;
const REGISTER_TIMEOUT_MS = 15_000;
const DISPATCH_TIMEOUT_MS = 10_000;
const CLIENT_SETTINGS = {
  ...clientSettings,
  region: 'us-east-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
} as const;

interface DeploymentOptions {
  /** The engine, past the proxy. */
  readonly endpoint: string;
  readonly seed: number;
  readonly journal: string;
  readonly onEvent: Emit;
}

interface Tables {
  readonly leasehold: string;
  readonly ledger: string;
  readonly register: string;
}

export interface Deployment {
  readonly lambda: LocalLambda;
  readonly proxy: FaultProxy;
  readonly tables: Tables;
  /** Past the proxy. */
  readonly client: DynamoDBClient;
  /** Connects through the proxy under a separate name. */
  clientNamed(name: string): DynamoDBClient;
  stop(): Promise<void>;
}

export async function deploy(options: DeploymentOptions): Promise<Deployment> {
  const { endpoint, seed } = options;
  const client = new DynamoDBClient({ endpoint, ...CLIENT_SETTINGS });
  const tables = await createTables(client, seed);
  const proxy = new FaultProxy({ upstream: endpoint, random: new Prng(BigInt(seed)).fork('network') });
  await proxy.start();
  const functions = functionsOf(options, { tables, endpoint: proxy.endpoint });
  const asyncRetry = {
    functionErrorDelaysMs: [500] as const,
    throttleBackoff: { baseMs: 200, capMs: 1_000 },
  };
  const lambda = new LocalLambda({ functions, onEvent: options.onEvent, asyncRetry });
  await lambda.start();
  return {
    lambda,
    proxy,
    tables,
    client,
    clientNamed: (name) => new DynamoDBClient({ endpoint: proxy.endpoint, ...CLIENT_SETTINGS, userAgentAppId: name }),
    async stop() {
      await lambda.stop();
      await proxy.stop();
      client.destroy();
    },
  };
}

async function createTables(client: DynamoDBClient, seed: number): Promise<Tables> {
  // An engine may serve several runs.
  const name = `chaos-${seed}-${process.pid}-${Date.now()}`;
  const tables = { leasehold: name, ledger: `${name}-ledger`, register: `${name}-register` };
  await createTable(client, tables.leasehold);
  await createKeyedTable(client, tables.ledger, 'id');
  await createKeyedTable(client, tables.register, 'key');
  return tables;
}

async function createKeyedTable(client: DynamoDBClient, table: string, key: string): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: key, AttributeType: 'S' }],
      KeySchema: [{ AttributeName: key, KeyType: 'HASH' }],
    }),
  );
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 0.05, maxDelay: 1 }, { TableName: table });
}

function functionsOf(
  { seed, journal }: DeploymentOptions,
  { tables, endpoint }: { readonly tables: Tables; readonly endpoint: string },
): Record<string, FunctionSettings> {
  const settings: WorkerSettings = {
    seed: String(seed),
    journal,
    ledgerTable: tables.ledger,
    registerTable: tables.register,
  };
  const environment = {
    NODE_OPTIONS: `--import=${pathToFileURL(beside('./skewed-clock.ts')).href}`,
    [SETTINGS_VARIABLE]: JSON.stringify(settings),
    [ENV.table]: tables.leasehold,
    [ENV.queue]: QUEUE,
    [ENV.shards]: String(SHARDS),
    [ENV.endpoint]: endpoint,
    // The reckless ones take permits too.
    [ENV.maxWorkers]: String(FLEET.taskWorkers + 2),
    [ENV.concurrency]: String(FLEET.concurrency),
    [ENV.sessionTtlMs]: String(PROTOCOL.sessionTtlMs),
    [ENV.lockDelayMs]: '0',
    [ENV.maxClockSkewMs]: String(PROTOCOL.maxClockSkewMs),
    [ENV.deadlineMarginMs]: String(DEADLINE_MARGIN_MS),
    [ENV.workerFunction]: FUNCTIONS.work,
    [TASKS_ENTRY_VARIABLE]: beside('./tasks.ts'),
    POWERTOOLS_LOG_LEVEL: 'DEBUG',
  };
  // The lease is the retry.
  const common = { environment, memoryMb: 256, maximumRetryAttempts: 0, maximumEventAgeMs: 5_000 };
  const work = {
    ...common,
    entry: beside('../../examples/platform/worker-entry.ts'),
    maxConcurrency: FLEET.taskWorkers + 2,
  };
  return {
    [FUNCTIONS.dispatch]: { ...common, entry: beside('../../functions/dispatch.ts'), timeoutMs: DISPATCH_TIMEOUT_MS },
    [FUNCTIONS.work]: { ...work, timeoutMs: WORKER_TIMEOUT_MS },
    [FUNCTIONS.reckless]: {
      ...work,
      maxConcurrency: 2,
      timeoutMs: RECKLESS_TIMEOUT_MS,
      environment: { ...environment, [ENV.deadlineMarginMs]: '0' },
    },
    [FUNCTIONS.register]: {
      ...common,
      entry: beside('./register.ts'),
      timeoutMs: REGISTER_TIMEOUT_MS,
      maxConcurrency: FLEET.lockHolders + 1,
    },
  };
}

function beside(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
