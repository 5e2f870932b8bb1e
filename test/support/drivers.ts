/** Every driver that speaks HTTP, over one address, for tests that all of them must pass. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DynamoDriver } from '../../shared/dynamo/engine/driver.ts';
import { createFetchDriver } from '../../shared/dynamo/wire/fetch-driver.ts';
import { createSdkDriver } from '../../shared/dynamo/wire/sdk-driver.ts';
import { clientSettings } from '../../shared/dynamo/wire/sdk.ts';
import { createWireDriver } from '../../shared/dynamo/wire/wire-driver.ts';
import type { CredentialSource, Credentials } from '../../shared/dynamo/wire/credentials.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import { systemClock } from '../../shared/core/runtime/clock.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';

export interface DriverSettings {
  readonly endpoint: string;
  readonly credentials?: CredentialSource;
  readonly clock?: Clock;
}

export interface TestDriver extends DynamoDriver, Disposable {
  /** Service times that were told, epoch milliseconds. */
  readonly dates: readonly number[];
}

export const STATIC_CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' } as const;

export const DRIVERS: readonly (readonly [name: string, open: (settings: DriverSettings) => TestDriver])[] = [
  [
    'sdk',
    ({ endpoint, credentials, clock = systemClock }) => {
      const client = new DynamoDBClient({
        ...clientSettings,
        endpoint,
        region: 'eu-west-1',
        credentials: credentials ?? STATIC_CREDENTIALS,
      });
      const dates: number[] = [];
      const driver = createSdkDriver(client, { clock, onResponse: ({ serverDate }) => void dates.push(serverDate) });
      return {
        dates,
        attempt: (kind, input, signal) => driver.attempt(kind, input, signal),
        [Symbol.dispose]: () => {
          client.destroy();
        },
      };
    },
  ],
  ['wire', openWireDriver],
  ['fetch', openFetchDriver],
];

/** The driver of the edge, over the `fetch` of this process. */
export function openFetchDriver({
  endpoint,
  credentials = () => Promise.resolve(STATIC_CREDENTIALS),
  clock = systemClock,
  maxInFlight = 100,
  maxRequests = Infinity,
}: DriverSettings & { readonly maxInFlight?: number; readonly maxRequests?: number }): TestDriver {
  const dates: number[] = [];
  // Asked a second time, a provider is asked for others.
  let asked = 0;
  const driver = createFetchDriver({
    endpoint,
    region: 'eu-west-1',
    maxInFlight,
    maxRequests,
    fetch,
    credentials: () => credentials({ forceRefresh: asked++ > 0 }),
    runtime: { ...systemRuntime, clock },
    onResponse: ({ serverDate }) => void dates.push(serverDate),
  });
  return {
    dates,
    attempt: (kind, input, signal) => driver.attempt(kind, input, signal),
    [Symbol.dispose]: () => undefined,
  };
}

/** The wire driver; `successor` is what takes over from it, absent: nothing takes over. */
export function openWireDriver({
  endpoint,
  credentials = () => Promise.resolve(STATIC_CREDENTIALS),
  clock = systemClock,
  successor,
  warn = () => undefined,
}: DriverSettings & { readonly successor?: DynamoDriver; readonly warn?: (message: string) => void }): TestDriver {
  const dates: number[] = [];
  const { protocol, hostname, port, host, pathname } = new URL(endpoint);
  const place = { isTls: protocol === 'https:', hostname, port: Number(port), path: pathname };
  const driver = createWireDriver({
    runtime: { ...systemRuntime, clock },
    onResponse: ({ serverDate }) => void dates.push(serverDate),
    openSdkDriver: () =>
      successor === undefined ? Promise.reject(new Error('there is no SDK')) : Promise.resolve(successor),
    warn,
    findDestination: () => {
      let current: Promise<Credentials> | undefined;
      const known: CredentialSource = (options) => {
        if (options?.forceRefresh === true || current === undefined) current = credentials(options);
        return current;
      };
      return {
        current: async () => ({ place, host, region: 'eu-west-1', credentials: await known() }),
        credentials: known,
      };
    },
  });
  return {
    dates,
    attempt: (kind, input, signal) => driver.attempt(kind, input, signal),
    [Symbol.dispose]: () => {
      driver.close();
    },
  };
}
