/**
 * `Leasehold` is the client: one table and everything stored in it.
 *
 *   const leasehold = createLeasehold({ table: 'leasehold' });
 *   await using session = await leasehold.session({ ttl: '30s' });
 *   await using lock = await session.lock('reports/nightly', { wait: '10s' });
 *   await work({ signal: lock.signal });
 *
 * This file only composes. Each concept has its folder, and each row its statements in `dynamo/<row>/`.
 */
import { hostname } from 'node:os';
import type { ConnectionOptions, DynamoConnection } from '../dynamo/connect.ts';
import { connectDynamo } from '../dynamo/connect.ts';
import type { Sender, SendObserver } from '../dynamo/engine/send.ts';
import type { ClientStores } from './stores.ts';
import { announcingIn } from './process-enqueues.ts';
import { createClientStores } from './stores.ts';
import { createTable } from '../dynamo/table.ts';
import { ElectionClient } from '../coordination/election/election.ts';
import { readEnvironment } from '../core/environment.ts';
import { ConfigurationError, shown } from '../core/errors.ts';
import type { Duration } from '../core/validate/duration.ts';
import { givenMs } from '../core/validate/duration.ts';
import { givenName, validName, validWholeNumber, validOptions } from '../core/validate/options.ts';
import type { SkewGauge } from '../core/lease/skew.ts';
import type { SessionTiming } from '../core/lease/timing.ts';
import { sessionTiming } from '../core/lease/timing.ts';
import { LockClient } from '../coordination/lock/lock-client.ts';
import type { RateOptions } from '../coordination/ratelimit/bucket.ts';
import { RateLimiter } from '../coordination/ratelimit/rate-limiter.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import { systemRuntime } from '../core/runtime/runtime.ts';
import { SemaphoreClient } from '../coordination/semaphore/semaphore-client.ts';
import { Session } from './session.ts';
import { SessionClient } from '../session/session-client.ts';
import type { SessionEvents } from '../session/keep-alive.ts';
import { SessionHolder } from '../session/keep-alive.ts';
import type { SessionBehavior } from '../session/session-record.ts';
import type { Verification } from '../session/session-contender.ts';
import type { TaskStoreOptions } from '../tasks/rows/task/adding-store.ts';
import { TaskClient } from './task-client.ts';
import { TaskOperator } from '../tasks/queue/task-operator.ts';
import type { PayloadStore } from '../tasks/task/payload.ts';
import { DEFAULT_SHARDS, MAX_SHARDS } from '../tasks/task/task.ts';
import { verifySequencer } from '../tasks/task/verify-task.ts';
import { openTelemetry } from '../tasks/tracing/open-telemetry.ts';
import { TaskSpans } from '../tasks/tracing/task-spans.ts';
import type { Waiters } from './waiters.ts';
import { newWaiters } from './waiters.ts';
import { WaitGroup } from '../coordination/waitgroup/group.ts';

export interface LeaseholdOptions extends ConnectionOptions {
  /** Absent: `LEASEHOLD_TABLE`, or `leasehold`. */
  readonly table?: string | undefined;
  /** Default queue for `tasks.enqueue`. Absent: `LEASEHOLD_QUEUE`, or `default`. */
  readonly queue?: string | undefined;
  /** Partitions of the ready index for new tasks, as in the stack. Default: `LEASEHOLD_SHARDS`, or 8. */
  readonly shards?: number | undefined;
  /** The stated bound on the difference between any two clocks; the same everywhere. Absent: `LEASEHOLD_MAX_CLOCK_SKEW_MS`, or 1 s. */
  readonly maxClockSkew?: Duration | undefined;
  /** Store for task inputs that are too large for the table. Without one, `enqueue` rejects them. */
  readonly payloads?: PayloadStore | undefined;
  /** Counts the requests sent. */
  readonly observer?: SendObserver | undefined;
}

export interface SessionSettings {
  /** Lease duration; `null` never expires: it fails closed until it is destroyed. */
  readonly ttl?: Duration | null | undefined;
  readonly heartbeat?: Duration | undefined;
  /** How long the session's keys stay closed after the session is lost: 0 to 60 seconds. */
  readonly lockDelay?: Duration | undefined;
  /** What to do with the session's keys when it ends: release them, or delete their entries. */
  readonly behavior?: SessionBehavior | undefined;
  /** Display name; does not have to be unique. */
  readonly name?: string | undefined;
  /** Name of the machine. Default: the host name. */
  readonly node?: string | undefined;
  /** Version of your code, such as a commit: shown to operators. */
  readonly codeVersion?: string | undefined;
  readonly events?: SessionEvents | undefined;
}

/** The foundation of a Leasehold; tests and simulations pass their own. */
export interface LeaseholdFoundation {
  readonly sender: Sender;
  readonly gauge: SkewGauge;
  readonly runtime: Runtime;
  /** Announces enqueued tasks to workers of this process. Default: no announcements. */
  readonly onCreated?: TaskStoreOptions['onCreated'];
  /** The lines in which callers wait. Default: lines of this process. */
  readonly waiters?: Waiters | undefined;
}

/** The settings of a Leasehold, except its connection. */
export interface LeaseholdSettings extends Pick<LeaseholdOptions, 'queue' | 'shards' | 'maxClockSkew' | 'payloads'> {
  readonly table: string;
}

/** The names of `LeaseholdOptions`. */
export const LEASEHOLD_OPTIONS = [
  'table',
  'queue',
  'shards',
  'maxClockSkew',
  'payloads',
  'observer',
  'endpoint',
  'allowHttp',
  'region',
  'client',
  'clientConfig',
] as const;

const SESSION_SETTINGS = [
  'ttl',
  'heartbeat',
  'lockDelay',
  'behavior',
  'name',
  'node',
  'codeVersion',
  'events',
] as const;

/** Ports for a client in a separate module, so that only programs that import it bundle it. */
export interface ClientParts extends Pick<LeaseholdFoundation, 'sender' | 'runtime'>, Pick<LeaseholdSettings, 'queue'> {
  readonly storeOptions: TaskStoreOptions;
}

const partsOfClients = new WeakMap<Leasehold, ClientParts>();

/** @throws ConfigurationError for anything but a `Leasehold` */
export function partsOf(leasehold: Leasehold): ClientParts {
  const parts = partsOfClients.get(leasehold);
  if (parts === undefined)
    throw new ConfigurationError(`${shown(leasehold)} is no client: create one with createLeasehold`);
  return parts;
}

const DEFAULT_SESSION_NAME = 'leasehold';

/**
 * Missing options come from the environment, as in the command (`shared/core/environment.ts`).
 * @throws ConfigurationError
 */
export function createLeasehold(options: LeaseholdOptions = {}): Leasehold {
  const settings = withEnvironment(validOptions('the options of createLeasehold', options, LEASEHOLD_OPTIONS));
  const connection = connectDynamo(settings, systemRuntime, settings.observer);
  const onCreated = announcingIn(settings);
  return new Leasehold({ ...connection, runtime: systemRuntime, onCreated }, settings, connection);
}

/** Returns the caller's options, completed from the environment. @throws ConfigurationError */
export function withEnvironment<Options extends LeaseholdOptions>(
  given: Options,
): Options & { readonly table: string } {
  const { endpoint, ...byDefault } = readEnvironment();
  // An undefined option would hide a default.
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Options;
  // The caller's client or client configuration already has its endpoint.
  const isAddressed = given.client !== undefined || given.clientConfig !== undefined;
  return { ...byDefault, ...(!isAddressed && { endpoint }), ...present };
}

/** Client for one table. Create one per process and reuse it. End its sessions before you close it. */
export class Leasehold implements Disposable {
  readonly table: string;
  /** Enqueues tasks. */
  readonly tasks: TaskClient;
  /** Operates tasks and queues: cancel, retry, reschedule, pause, resume. */
  readonly operator: TaskOperator;
  /** Keys and values without a session: get, list, watch, put, delete, force-release. */
  readonly locks: LockClient;
  /** Reads and observes the current leader. */
  readonly elections: ElectionClient;
  /** Reads semaphores and their holders, sets limits and evicts permits. */
  readonly semaphores: SemaphoreClient;
  /** Sessions of any process: get, list, destroy, wait for their end. */
  readonly sessions: SessionClient;

  readonly #foundation: LeaseholdFoundation;
  readonly #connection: DynamoConnection | undefined;
  readonly #maxClockSkewMs: number;
  readonly #stores: ClientStores;
  readonly #waiters: Waiters;

  constructor(foundation: LeaseholdFoundation, options: LeaseholdSettings, connection?: DynamoConnection) {
    const { table, queue, shards = DEFAULT_SHARDS, maxClockSkew } = options;
    const { runtime } = foundation;
    this.table = validName('table', table);
    this.#foundation = foundation;
    this.#connection = connection;
    this.#maxClockSkewMs = sessionTiming({ maxClockSkewMs: givenMs('maxClockSkew', maxClockSkew) }).maxClockSkewMs;
    const storeOptions = {
      table,
      shards: validWholeNumber('shards', shards, { min: 1, max: MAX_SHARDS }),
      onCreated: foundation.onCreated,
    };
    this.#stores = createClientStores(foundation.sender, storeOptions);
    partsOfClients.set(this, { sender: foundation.sender, runtime, queue, storeOptions });
    this.#waiters = foundation.waiters ?? newWaiters(runtime.clock);
    const ports = { ...this.#stores, ...foundation };
    const spans = new TaskSpans(openTelemetry);
    this.tasks = new TaskClient({ store: this.#stores.tasks, runtime }, { queue, payloads: options.payloads, spans });
    this.operator = new TaskOperator(ports, { queue, maxClockSkewMs: this.#maxClockSkewMs });
    this.locks = new LockClient(ports, this.#maxClockSkewMs);
    this.elections = new ElectionClient(this.locks);
    this.semaphores = new SemaphoreClient(
      { ...ports, line: this.#waiters.semaphores },
      { maxClockSkewMs: this.#maxClockSkewMs },
    );
    this.sessions = new SessionClient(ports, this.#maxClockSkewMs);
  }

  /**
   * Opens a session and keeps it alive until it is ended or lost.
   * @throws ConfigurationError when a setting is out of its range, or two settings conflict
   * @throws StoreUnavailableError when the store did not confirm it in time
   * @throws ClockSkewError when this machine's clock is proven wrong by more than half of the bound
   */
  async session(settings: SessionSettings = {}): Promise<Session> {
    const { sessions: store } = this.#stores;
    const { runtime } = this.#foundation;
    const {
      behavior: behaviour = 'release',
      name = DEFAULT_SESSION_NAME,
      node = hostname(),
    } = validOptions('the settings of a session', settings, SESSION_SETTINGS);
    validName('session name', name);
    validName('node', node);
    const codeVersion = givenName('codeVersion', settings.codeVersion);
    if (!['release', 'delete'].includes(behaviour))
      throw new ConfigurationError(`behavior = ${shown(behaviour)}: must be 'release' or 'delete'`);
    const timing = this.#timingOf(settings);
    const options = { name, node, codeVersion, behaviour, timing };
    const holder = await SessionHolder.create(options, {
      store,
      runtime,
      gauge: this.#foundation.gauge,
      ...(settings.events && { events: settings.events }),
    });
    return new Session(holder, {
      ...this.#stores,
      ...this.#foundation,
      table: this.table,
      turns: this.#waiters.locks,
      line: this.#waiters.semaphores,
    });
  }

  /**
   * Whether a sequencer belongs to the current tenure of a lock, or to the current claim of a task. Strongly consistent.
   * For a task's sequencer it reads the task's row, which `grantObserve` allows and `grantCoordinate` alone does not.
   * @throws ConfigurationError if it was changed in transit, or belongs to another table, or to a semaphore, which has many holders
   */
  async verify(sequencer: string): Promise<Verification> {
    const { clock } = this.#foundation.runtime;
    const ports = { ...this.#stores, now: () => clock.now(), maxClockSkewMs: this.#maxClockSkewMs };
    return verifySequencer(sequencer, this.table, ports);
  }

  /**
   * A wait group's current generation. Creates the group if it does not exist.
   * @param options.generation an older generation, for example from an old message
   */
  async waitGroup(name: string, options: { readonly generation?: number | undefined } = {}): Promise<WaitGroup> {
    validOptions('the options of a wait group', options, ['generation']);
    const ports = { ...this.#stores, ...this.#foundation };
    return WaitGroup.open(name, ports, { ...options, maxClockSkewMs: this.#maxClockSkewMs });
  }

  /** A token bucket for each key. @throws ConfigurationError */
  rateLimiter(name: string, rate: RateOptions): RateLimiter {
    const ports = { ...this.#stores, ...this.#foundation, line: this.#waiters.tokens };
    return new RateLimiter(name, rate, ports, { maxClockSkewMs: this.#maxClockSkewMs });
  }

  /** Creates the table if it does not exist, for laptops and tests without a stack. @returns whether it was created */
  async createTable(): Promise<boolean> {
    if (this.#connection === undefined)
      throw new ConfigurationError('this Leasehold has no own connection: create the table yourself');
    return createTable(await this.#connection.openClient(), this.table);
  }

  /** Closes idle connections. End all sessions first. */
  close(): void {
    this.#connection?.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #timingOf({ ttl, heartbeat, lockDelay }: SessionSettings): SessionTiming {
    return sessionTiming({
      ttlMs: ttl === null ? null : givenMs('ttl', ttl),
      heartbeatMs: givenMs('heartbeat', heartbeat),
      lockDelayMs: givenMs('lockDelay', lockDelay),
      maxClockSkewMs: this.#maxClockSkewMs,
    });
  }
}
