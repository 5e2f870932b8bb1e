/** From a table's address to a sender: the client is made here, with the settings that the protocol needs. */
import { isIP } from 'node:net';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ConfigurationError } from '../errors.ts';
import type { SkewGauge } from '../lease/skew.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { DynamoDriver } from './driver.ts';
import { clientSettings, createSdkDriver } from './sdk-driver.ts';
import type { SendObserver } from './send.ts';
import { Sender } from './send.ts';
import { createSigner } from './signer.ts';
import { DateHeaderGauge } from './skew-gauge.ts';

export interface ConnectionOptions {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** Anything else that the SDK's client takes: credentials, a request handler. Retries are ours in any case. */
  readonly clientConfig?: DynamoDBClientConfig | undefined;
}

export interface DynamoConnection {
  readonly client: DynamoDBClient;
  /** For senders of one's own, such as one for each invocation. */
  readonly driver: DynamoDriver;
  readonly sender: Sender;
  readonly gauge: SkewGauge;
}

/** @throws ConfigurationError */
export function connectDynamo(
  { endpoint, region, clientConfig }: ConnectionOptions,
  runtime: Runtime,
  observer?: SendObserver,
): DynamoConnection {
  if (endpoint !== undefined) ensureEndpoint(endpoint);
  const client: DynamoDBClient = new DynamoDBClient({
    signer: createSigner(() => client.config.credentials()),
    ...(isLoopback(endpoint) ? LOCAL_SETTINGS : {}),
    ...clientConfig,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...clientSettings,
  });
  const gauge = new DateHeaderGauge();
  const driver = createSdkDriver(client, { clock: runtime.clock, onResponse: (timing) => gauge.observe(timing) });
  return { client, driver, sender: new Sender({ driver, runtime, observer }), gauge };
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

function isLoopback(endpoint: string | undefined): boolean {
  const host = URL.parse(endpoint ?? '')?.hostname ?? '';
  // In a URL an address of IPv6 stands in brackets.
  return isLoopbackHost(host.replace(/^\[|\]$/g, ''));
}
