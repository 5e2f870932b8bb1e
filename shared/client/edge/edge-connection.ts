/**
 * The connection of an isolate at the edge to a table: over `fetch`, with credentials from a provider.
 * Create one within each request: it costs nothing, and signing keys and credentials
 * are shared between requests anyway.
 * A connection that outlives its request would wait for work that the request has started, which isolates do not allow.
 */
import type { SendObserver } from '../../dynamo/engine/send.ts';
import { Sender } from '../../dynamo/engine/send.ts';
import { DateHeaderGauge } from '../../dynamo/engine/skew-gauge.ts';
import { createFetchDriver } from '../../dynamo/wire/fetch-driver.ts';
import { ensureSafe } from '../../dynamo/wire/endpoint.ts';
import type { CredentialProvider, TemporaryCredentials } from '../../dynamo/wire/kept-credentials.ts';
import { ensureCredentials } from '../../dynamo/wire/kept-credentials.ts';
import { ConfigurationError, shown } from '../../core/errors.ts';
import type { SkewGauge } from '../../core/lease/skew.ts';
import { sessionTiming } from '../../core/lease/timing.ts';
import { canInflateAtOnce } from '../../core/runtime/deflate.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { systemRuntime } from '../../core/runtime/runtime.ts';
import { DEFAULT_SHARDS, MAX_SHARDS } from '../../tasks/task/task.ts';
import type { Duration } from '../../core/validate/duration.ts';
import { givenMs } from '../../core/validate/duration.ts';
import { validName, validWholeNumber, validOptions } from '../../core/validate/options.ts';
import { inflatingDriver } from './inflating-driver.ts';

export interface EdgeOptions {
  readonly table: string;
  /** The table's region, not the isolate's. */
  readonly region: string;
  /** A function is called again before they end, and when the service refuses them; the isolate keeps its result. */
  readonly credentials: TemporaryCredentials | CredentialProvider;
  /** Default: DynamoDB's endpoint in the region. */
  readonly endpoint?: string | undefined;
  /** Whether `endpoint` may be a plain `http:` address of another machine, which anybody on the way can read and change. */
  readonly allowHttp?: boolean | undefined;
  /** Default: the runtime's own. */
  readonly fetch?: typeof fetch | undefined;
  /** Default queue for `enqueue`. Default: `default`. */
  readonly queue?: string | undefined;
  /** Partitions of the ready index for new tasks, as in the stack. Default: 8. */
  readonly shards?: number | undefined;
  /** The stated bound on the difference between any two clocks; the same everywhere. Absent: 1 s. */
  readonly maxClockSkew?: Duration | undefined;
  /** Maximum concurrent requests; others wait. Default: 6, the number of connections of an isolate. */
  readonly maxInFlight?: number | undefined;
  /** Total number of requests. Further requests are not sent and throw a `ConfigurationError`. Default: no limit. */
  readonly maxRequests?: number | undefined;
  /** Counts the requests sent. */
  readonly observer?: SendObserver | undefined;
}

export interface EdgeConnection {
  readonly table: string;
  readonly queue: string | undefined;
  readonly shards: number;
  readonly maxClockSkewMs: number;
  readonly sender: Sender;
  readonly gauge: SkewGauge;
  readonly runtime: Runtime;
}

const OPTIONS = [
  'table',
  'region',
  'credentials',
  'endpoint',
  'allowHttp',
  'fetch',
  'queue',
  'shards',
  'maxClockSkew',
  'maxInFlight',
  'maxRequests',
  'observer',
] as const;

const DEFAULT_IN_FLIGHT = 6;

/** @throws ConfigurationError */
export function connect(options: EdgeOptions, runtime: Runtime = systemRuntime): EdgeConnection {
  const given = validOptions('the options of leasehold/edge', options, OPTIONS);
  const { table, region, credentials, maxClockSkew, maxRequests = Infinity, observer } = given;
  const { shards = DEFAULT_SHARDS, maxInFlight = DEFAULT_IN_FLIGHT } = given;
  const gauge = new DateHeaderGauge(runtime.clock);
  const driver = createFetchDriver({
    runtime,
    endpoint: endpointOf(given),
    region,
    credentials: validCredentials(credentials),
    fetch: given.fetch ?? ((...call) => fetch(...call)),
    maxInFlight: validWholeNumber('maxInFlight', maxInFlight, { min: 1 }),
    maxRequests: maxRequests === Infinity ? Infinity : validWholeNumber('maxRequests', maxRequests, { min: 1 }),
    onResponse: (timing) => gauge.observe(timing),
  });
  return {
    table: validName('table', table),
    queue: given.queue,
    gauge,
    runtime,
    shards: validWholeNumber('shards', shards, { min: 1, max: MAX_SHARDS }),
    maxClockSkewMs: sessionTiming({ maxClockSkewMs: givenMs('maxClockSkew', maxClockSkew) }).maxClockSkewMs,
    sender: new Sender({ driver: canInflateAtOnce ? driver : inflatingDriver(driver), runtime, observer }),
  };
}

/** The result of `connect`. @throws ConfigurationError for anything else */
export function validConnection(connection: EdgeConnection): EdgeConnection {
  if ((connection as Partial<EdgeConnection> | null | undefined)?.sender instanceof Sender) return connection;
  throw new ConfigurationError(`connection = ${shown(connection)}: pass what connect returns`);
}

/** China's partition has its own domain. For other partitions, pass an endpoint. */
function endpointOf({ region, endpoint, credentials, allowHttp }: EdgeOptions): string {
  if (typeof region !== 'string' || !/^[a-z0-9-]+$/.test(region))
    throw new ConfigurationError(`region = ${shown(region)}: pass the region of the table, such as 'eu-west-1'`);
  if (endpoint === undefined)
    return `https://dynamodb.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}/`;
  ensureSafe(endpoint, {
    allowHttp,
    accessKeyId: typeof credentials === 'object' ? credentials.accessKeyId : undefined,
  });
  return endpoint;
}

function validCredentials(credentials: EdgeOptions['credentials']): EdgeOptions['credentials'] {
  if (typeof credentials !== 'function') ensureCredentials(credentials);
  return credentials;
}
