/** `EdgeLeasehold` is the client for an isolate at the edge: the operations that a request needs, over `fetch`. */
import { createLockStore } from '../../coordination/lock/row/dynamo-lock-store.ts';
import { createRateLimitStore } from '../../coordination/ratelimit/row/dynamo-ratelimit-store.ts';
import { createBasicStores } from '../basic-stores.ts';
import { ElectionClient } from '../../coordination/election/election.ts';
import { LockClient } from '../../coordination/lock/lock-client.ts';
import { createArrivalStore } from '../../tasks/rows/task/arrival-store.ts';
import { TaskClient } from '../task-client.ts';
import type { RateOptions } from '../../coordination/ratelimit/bucket.ts';
import { RateLimiter } from '../../coordination/ratelimit/rate-limiter.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { SemaphoreClient } from '../../coordination/semaphore/semaphore-client.ts';
import { Session } from '../session.ts';
import type { Verification } from '../../session/session-contender.ts';
import { verifySequencer } from '../../tasks/task/verify-task.ts';
import type { Waiters } from '../waiters.ts';
import { newWaiters } from '../waiters.ts';
import type { EdgeConnection, EdgeOptions } from './edge-connection.ts';
import { connect } from './edge-connection.ts';
import type { EdgeSessionSettings } from './edge-sessions.ts';
import { openHolder } from './edge-sessions.ts';

/** Reads no environment, because an isolate has none. @throws ConfigurationError */
export function createLeasehold(options: EdgeOptions, runtime?: Runtime): EdgeLeasehold {
  return new EdgeLeasehold(connect(options, runtime));
}

/** A client of one table for one request. Create one in each request; keys and credentials are shared anyway. */
export class EdgeLeasehold {
  readonly table: string;
  /** Enqueues tasks (one, many or a batch) and reads them. */
  readonly tasks: TaskClient;
  /** Keys and values without a session: get, list, watch, put, delete, force-release. */
  readonly locks: LockClient;
  /** Reads and observes the current leader. */
  readonly elections: ElectionClient;
  /** Reads semaphores and their holders, sets limits and evicts permits. */
  readonly semaphores: SemaphoreClient;

  readonly #connection: EdgeConnection;
  readonly #stores: ReturnType<typeof storesOf>;
  readonly #waiters: Waiters;

  constructor(connection: EdgeConnection) {
    const { table, queue, runtime, maxClockSkewMs } = connection;
    this.table = table;
    this.#connection = connection;
    this.#stores = storesOf(connection);
    this.#waiters = newWaiters(runtime.clock);
    const ports = this.#ports();
    this.tasks = new TaskClient({ store: this.#stores.tasks, runtime }, { queue });
    this.locks = new LockClient(ports, maxClockSkewMs);
    this.elections = new ElectionClient(this.locks);
    this.semaphores = new SemaphoreClient(ports, { maxClockSkewMs });
  }

  /**
   * Opens a session, which lives within this request: end it before the response, or within the runtime's `waitUntil`.
   * @throws ConfigurationError when a setting is out of its range, or two settings conflict
   * @throws StoreUnavailableError when the store did not confirm it in time
   * @throws ClockSkewError when the isolate's clock is proven wrong by more than half of the bound
   */
  async session(settings: EdgeSessionSettings = {}): Promise<Session> {
    return new Session(await openHolder(this.#connection, settings), this.#ports());
  }

  /** A token bucket for each key. @throws ConfigurationError */
  rateLimiter(name: string, rate: RateOptions): RateLimiter {
    const { maxClockSkewMs } = this.#connection;
    return new RateLimiter(name, rate, { ...this.#ports(), line: this.#waiters.tokens }, { maxClockSkewMs });
  }

  /**
   * Whether a sequencer belongs to the current tenure of a lock, or to the current claim of a task. Strongly consistent.
   * @throws ConfigurationError if it was changed in transit, or belongs to another table, or to a semaphore, which has many holders
   */
  async verify(sequencer: string): Promise<Verification> {
    const { runtime, maxClockSkewMs } = this.#connection;
    const ports = { ...this.#stores, now: () => runtime.clock.now(), maxClockSkewMs };
    return verifySequencer(sequencer, this.table, ports);
  }

  #ports() {
    const { table, runtime, gauge } = this.#connection;
    const { locks: turns, semaphores: line } = this.#waiters;
    return { ...this.#stores, table, runtime, gauge, turns, line };
  }
}

function storesOf({ sender, table, shards }: EdgeConnection) {
  const stores = createBasicStores(sender, { table, shards });
  return {
    ...stores,
    tasks: Object.assign(stores.tasks, createArrivalStore(sender, { table, shards })),
    locks: createLockStore(sender, table),
    buckets: createRateLimitStore(sender, table),
  };
}
