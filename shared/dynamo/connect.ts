/** From a table's address to a sender: drivers and clients are made here, with the settings that the protocol needs. */
import { isIP } from 'node:net';
import type { DynamoDBClient, DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { ConfigurationError, shown } from '../core/errors.ts';
import type { SkewGauge } from '../core/lease/skew.ts';
import { warn } from '../core/runtime/host.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import type { DynamoDriver } from './engine/driver.ts';
import { loadSdk, openClient } from './wire/sdk.ts';
import { createSdkDriver, observeDates } from './wire/sdk-driver.ts';
import type { SendObserver } from './engine/send.ts';
import { Sender } from './engine/send.ts';
import type { ResponseTiming } from './engine/skew-gauge.ts';
import { DateHeaderGauge } from './engine/skew-gauge.ts';
import { GatheringSender } from './gathering-sender.ts';
import type { Destination } from './wire/destination.ts';
import { certainDestination, sdkDestination } from './wire/destination.ts';
import { awsEnvironment } from './wire/aws-environment.ts';
import { createWireDriver } from './wire/wire-driver.ts';

/** What sends requests: our own HTTP driver, or the client of the AWS SDK. */
export type DriverName = 'wire' | 'sdk';

export interface ConnectionOptions {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /**
   * What sends requests. Default: `LEASEHOLD_DRIVER`, else `wire`, which loads faster and takes a third of the CPU a call;
   * `sdk` where `clientConfig` is given.
   */
  readonly driver?: DriverName | undefined;
  /** Anything else that the SDK's client takes: credentials, a request handler. The SDK sends then. Retries are ours in any case. */
  readonly clientConfig?: DynamoDBClientConfig | undefined;
}

export interface DynamoConnection {
  /**
   * A client of the SDK for the same place, made when it is first asked for: for what the protocol does not do, such as creating tables.
   */
  readonly openClient: () => Promise<DynamoDBClient>;
  /** Whether region and credentials are found by the SDK: elsewhere they are known without it. */
  readonly isSdkNeeded: () => boolean;
  /** For senders of one's own, such as one for each invocation. */
  readonly driver: DynamoDriver;
  readonly sender: Sender;
  readonly gauge: SkewGauge;
  /** Closes idle connections. */
  readonly close: () => void;
}

/**
 * @param gathering.gathers whether reads that are asked for at about the same moment share a request: for those who serve many callers
 * @throws ConfigurationError
 */
export function connectDynamo(
  options: ConnectionOptions,
  runtime: Runtime,
  observer?: SendObserver,
  { gathers = false }: { readonly gathers?: boolean } = {},
): DynamoConnection {
  const { endpoint, region, clientConfig } = options;
  if (endpoint !== undefined) ensureEndpoint(endpoint);
  const name = driverNameOf(options);
  const gauge = new DateHeaderGauge(runtime.clock);
  const onResponse = (timing: ResponseTiming): void => gauge.observe(timing);
  const local = isLoopback(endpoint) ? LOCAL_SETTINGS : undefined;
  const client = once(async () => {
    const made = await openClient({
      ...local,
      ...clientConfig,
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(region === undefined ? {} : { region }),
    });
    observeDates(made, runtime.clock, onResponse);
    return made;
  });
  const sdkDriver = once(async () => createSdkDriver(await client.get()));
  const certain = (): Destination | undefined => certainDestination({ endpoint, region, local }, awsEnvironment);
  const wire = createWireDriver({
    runtime,
    onResponse,
    openSdkDriver: sdkDriver.get,
    warn,
    findDestination: async () => certain() ?? sdkDestination(await client.get(), await loadSdk()),
  });
  const driver = name === 'wire' ? wire : { attempt: sdkAttempt(sdkDriver.get) };
  const ports = { driver, runtime, observer };
  return {
    openClient: client.get,
    driver,
    gauge,
    isSdkNeeded: () => name === 'sdk' || certain() === undefined,
    sender: gathers ? new GatheringSender(ports) : new Sender(ports),
    close() {
      wire.close();
      client.made()?.then((made) => made.destroy(), ignored);
    },
  };
}

function sdkAttempt(open: () => Promise<DynamoDriver>): DynamoDriver['attempt'] {
  return async (kind, input, signal) => (await open()).attempt(kind, input, signal);
}

function driverNameOf({ driver, clientConfig }: ConnectionOptions): DriverName {
  if (driver === 'wire' && clientConfig !== undefined)
    throw new ConfigurationError("driver = 'wire' takes no clientConfig, which is for the SDK: leave out one of them");
  const name = clientConfig === undefined ? (driver ?? awsEnvironment().LEASEHOLD_DRIVER ?? 'wire') : 'sdk';
  if (name !== 'wire' && name !== 'sdk')
    throw new ConfigurationError(`driver (or LEASEHOLD_DRIVER) = ${shown(name)}: give 'wire' or 'sdk'`);
  return name;
}

/** Made when it is first asked for, and again after that has failed. */
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
  // A client that could not be made need not be closed; who asked for it was told why.
}

/** Emulators insist on a region and credentials, but check neither. */
const LOCAL_SETTINGS = { region: 'local', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } } as const;
/** @throws ConfigurationError unless it is an address on the web */
export function ensureEndpoint(endpoint: string): void {
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    throw new ConfigurationError(`endpoint ${endpoint} is not a URL such as http://127.0.0.1:8000`);
}

/** Whether a name or an address, without brackets, is this machine to itself. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Whether an endpoint is of this machine. */
export function isLoopback(endpoint: string | undefined): boolean {
  const host = URL.parse(endpoint ?? '')?.hostname ?? '';
  // In a URL an address of IPv6 stands in brackets.
  return isLoopbackHost(host.replace(/^\[|\]$/g, ''));
}
