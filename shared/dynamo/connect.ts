/** Creates a sender for a table's address, with drivers and clients that have the settings that the protocol needs. */
import type { DynamoDBClient, DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { defined } from '../core/defined.ts';
import { ConfigurationError } from '../core/errors.ts';
import { ensureOutsideKit } from '../core/own-client.ts';
import type { SkewGauge } from '../core/lease/skew.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import { Connections } from './engine/connections.ts';
import type { DynamoDriver } from './engine/driver.ts';
import type { SdkClient } from './wire/sdk.ts';
import { loadSdk, openClient, validClient } from './wire/sdk.ts';
import { createSdkDriver } from './wire/sdk-driver.ts';
import type { SendObserver } from './engine/send.ts';
import { grantFor } from './engine/grant-for.ts';
import { Sender } from './engine/send.ts';
import type { ResponseTiming } from './engine/skew-gauge.ts';
import { DateHeaderGauge } from './engine/skew-gauge.ts';
import { GatheringSender } from './gathering-sender.ts';
import type { Destination } from './wire/destination.ts';
import { certainDestination, sdkDestination } from './wire/destination.ts';
import { awsEnvironment } from './wire/aws-environment.ts';
import { LOCAL_KEY, ensureSafe, isLoopback } from './wire/endpoint.ts';
import { MAX_SOCKETS } from './wire/http.ts';
import { createWireDriver } from './wire/wire-driver.ts';

export interface ConnectionOptions {
  readonly endpoint?: string | undefined;
  /** Whether `endpoint` may be a plain `http:` address of another machine, which anybody on the way can read and change. */
  readonly allowHttp?: boolean | undefined;
  readonly region?: string | undefined;
  /**
   * Your `DynamoDBClient` or `DynamoDBDocumentClient`: it sends all requests, with its credentials, endpoint, proxy and middleware.
   * Its retries do not apply to them, and `close` does not destroy it. Mutually exclusive with `endpoint`, `region` and `clientConfig`.
   */
  readonly client?: SdkClient | undefined;
  /** Settings of an AWS SDK client that is created for you and sends all requests. */
  readonly clientConfig?: DynamoDBClientConfig | undefined;
}

export interface DynamoConnection {
  /** An SDK client for the same endpoint, created on first use, for operations outside the protocol such as creating tables. */
  readonly openClient: () => Promise<DynamoDBClient>;
  /** Whether the SDK must find region and credentials. Otherwise they are known without it. */
  readonly isSdkNeeded: () => boolean;
  /** For custom senders, such as one per invocation. */
  readonly driver: DynamoDriver;
  readonly sender: Sender;
  readonly gauge: SkewGauge;
  /** Closes idle connections. */
  readonly close: () => void;
}

/**
 * @param gathering.gathers whether reads at about the same time share a request, for processes that serve many callers
 * @throws ConfigurationError
 */
export function connectDynamo(
  options: ConnectionOptions,
  runtime: Runtime,
  observer?: SendObserver,
  { gathers = false }: { readonly gathers?: boolean } = {},
): DynamoConnection {
  const { endpoint, region, client: given, clientConfig, allowHttp } = options;
  if (given !== undefined) ensureAlone(given, options);
  if (endpoint !== undefined) ensureSafe(endpoint, { allowHttp, accessKeyId: keyOf(clientConfig) });
  const gauge = new DateHeaderGauge(runtime.clock);
  const onResponse = (timing: ResponseTiming): void => gauge.observe(timing);
  const local = isLoopback(endpoint) ? LOCAL_SETTINGS : undefined;
  const made = once(() =>
    openClient({
      ...local,
      ...clientConfig,
      ...defined({ endpoint, region }),
    }),
  );
  const client = given === undefined ? made.get : () => Promise.resolve(given as DynamoDBClient);
  const connections = new Connections(MAX_SOCKETS);
  const sdk = once(async () => createSdkDriver(await client(), { clock: runtime.clock, onResponse, connections }));
  const certain = (): Destination | undefined => certainDestination({ endpoint, region, local }, awsEnvironment);
  const wire = createWireDriver({
    runtime,
    onResponse,
    openSdkDriver: sdk.get,
    findDestination: async () => certain() ?? sdkDestination(await client(), await loadSdk()),
  });
  const isSdk = given !== undefined || clientConfig !== undefined;
  const driver = isSdk ? { connections, attempt: sdkAttempt(sdk.get) } : wire;
  const ports = { driver, runtime, observer, ensureMaySend: ensureOutsideKit, grantFor };
  return {
    openClient: client,
    driver,
    gauge,
    isSdkNeeded: () => isSdk || certain() === undefined,
    sender: gathers ? new GatheringSender(ports) : new Sender(ports),
    close() {
      wire.close();
      made.made()?.then((mine) => mine.destroy(), ignored);
    },
  };
}

function sdkAttempt(open: () => Promise<DynamoDriver>): DynamoDriver['attempt'] {
  return async (kind, input, signal) => (await open()).attempt(kind, input, signal);
}

/** @throws ConfigurationError for a value that is not a DynamoDB client, and for a setting that the client already has */
function ensureAlone(given: SdkClient, options: ConnectionOptions): void {
  validClient(given);
  for (const name of ['endpoint', 'region', 'clientConfig'] as const)
    if (options[name] !== undefined)
      throw new ConfigurationError(`client and ${name} are mutually exclusive: the client has its own settings`);
}

/** Creates a value on first use, and tries again after a failure. */
function once<T>(make: () => Promise<T>): { get: () => Promise<T>; made: () => Promise<T> | undefined } {
  let made: Promise<T> | undefined;
  return {
    made: () => made,
    get: () => {
      made ??= make().catch((error: unknown) => {
        made = undefined;
        throw error;
      });
      return made;
    },
  };
}

function ignored(): void {
  // A client that could not be created needs no closing; its creator received the error.
}

/** Emulators require a region and credentials, but do not check them. */
const LOCAL_SETTINGS = {
  region: 'local',
  credentials: { accessKeyId: LOCAL_KEY, secretAccessKey: LOCAL_KEY },
} as const;

/** The access key, if it is given as such. Other credentials are found with the first request. */
function keyOf(config: DynamoDBClientConfig | undefined): string | undefined {
  const { credentials } = config ?? {};
  return typeof credentials === 'object' ? credentials.accessKeyId : awsEnvironment().AWS_ACCESS_KEY_ID;
}
