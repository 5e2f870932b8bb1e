/** Every driver that speaks HTTP, over one address, for tests that all of them must pass. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { DynamoDriver } from '../../shared/dynamo/engine/driver.ts';
import { createFetchDriver } from '../../shared/dynamo/wire/fetch-driver.ts';
import { placeOf } from '../../shared/dynamo/wire/http.ts';
import { createSdkDriver } from '../../shared/dynamo/wire/sdk-driver.ts';
import { createWireDriver } from '../../shared/dynamo/wire/wire-driver.ts';
import type { CredentialSource, Credentials } from '../../shared/dynamo/wire/credentials.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import { systemClock } from '../../shared/core/runtime/clock.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';

interface DriverSettings {
  readonly endpoint: string;
  readonly credentials?: CredentialSource;
  readonly clock?: Clock;
}

export interface TestDriver extends DynamoDriver, Disposable {
  /** Reported service times, epoch milliseconds. */
  readonly dates: readonly number[];
}

export const STATIC_CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' } as const;

export const DRIVERS: readonly (readonly [name: string, open: (settings: DriverSettings) => TestDriver])[] = [
  ['wire', openWireDriver],
  ['client', openClientDriver],
  ['fetch', openFetchDriver],
];

/** A client as users have theirs: with the SDK's retries, a middleware that sends again by itself, and documents. */
export function usersClient({ endpoint, credentials = () => Promise.resolve(STATIC_CREDENTIALS) }: DriverSettings) {
  const client = new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials });
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch {
        return next(args);
      }
    },
    { step: 'finalizeRequest', name: 'theirRetry', priority: 'low' },
  );
  return DynamoDBDocumentClient.from(client);
}

/** The driver over a client of a user's. */
export function openClientDriver(settings: DriverSettings): TestDriver {
  const client = usersClient(settings);
  const dates: number[] = [];
  const driver = createSdkDriver(client, {
    clock: settings.clock ?? systemClock,
    onResponse: ({ serverDate }) => void dates.push(serverDate),
  });
  return {
    dates,
    attempt: (kind, input, signal) => driver.attempt(kind, input, signal),
    [Symbol.dispose]: () => {
      client.config.requestHandler.destroy?.();
    },
  };
}

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

/** The default driver. */
export function openWireDriver({
  endpoint,
  credentials = () => Promise.resolve(STATIC_CREDENTIALS),
  clock = systemClock,
  failures = 0,
}: DriverSettings & {
  /** How many times the search for the endpoint fails first. */
  readonly failures?: number;
}): TestDriver {
  const dates: number[] = [];
  const place = placeOf(endpoint);
  let searches = 0;
  const driver = createWireDriver({
    runtime: { ...systemRuntime, clock },
    onResponse: ({ serverDate }) => void dates.push(serverDate),
    openSdkDriver: () => Promise.resolve(openClientDriver({ endpoint, credentials })),
    findDestination: () => {
      if (searches++ < failures) throw new Error('no region');
      let current: Promise<Credentials> | undefined;
      const known: CredentialSource = (options) => {
        if (options?.forceRefresh === true || current === undefined) current = credentials(options);
        return current;
      };
      return {
        current: async () => ({ place, region: 'eu-west-1', credentials: await known() }),
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
