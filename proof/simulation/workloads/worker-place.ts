/** The environment of a simulated worker: its process, its stores as the rules observe them, and its reports to the world. */
import { createStores } from '../../../shared/client/stores.ts';
import type { DynamoDriver } from '../../../shared/dynamo/engine/driver.ts';
import type { SendObserver } from '../../../shared/dynamo/engine/send.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import type { SkewGauge } from '../../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../../shared/core/lease/timing.ts';
import type { SessionEvents } from '../../../shared/session/keep-alive.ts';
import { SessionHolder } from '../../../shared/session/keep-alive.ts';
import type { RateLimitStore } from '../../../shared/coordination/ratelimit/ratelimit-store.ts';
import type { SemaphoreStore } from '../../../shared/coordination/semaphore/semaphore-store.ts';
import type { SessionStore } from '../../../shared/session/session-store.ts';
import type { Question } from './durable-code.ts';
import type { LockStore } from '../../../shared/coordination/lock/lock-store.ts';
import type { TickStore } from '../../../shared/tasks/dispatch/tick-store.ts';
import type { TaskOperatorStore } from '../../../shared/tasks/task/task-operator-store.ts';
import type { QueueStore } from '../../../shared/tasks/task/queue-store.ts';
import type { ScheduleStore } from '../../../shared/tasks/schedule/schedule.ts';
import type { AnsweringStore } from '../../../shared/tasks/durable/journal-store.ts';
import type { TaskStoreOptions } from '../../../shared/tasks/rows/task/adding-store.ts';
import type { WaitGroupStore } from '../../../shared/coordination/waitgroup/waitgroup-store.ts';
import type { Prng } from '../../../test/support/machines/prng.ts';
import type { SimulatedProcess } from '../../../test/support/machines/process.ts';
import { observeBuckets, observeGroups, observeSemaphores } from '../observed-coordination.ts';
import { observeQueues, observeSchedules, observeTicks } from '../observed-dispatch.ts';
import { observeLocks, observeOperations, observeSessions, observeTasks } from '../observed-stores.ts';
import type { Profile } from '../profile.ts';
import type { Recorder } from '../recorder.ts';
import { QUEUE_NAME, TABLE_NAME } from '../rows.ts';

export const QUEUE = QUEUE_NAME;
export const START_WITHIN_MS = 2_000;

export interface WorkerPlace {
  readonly process: SimulatedProcess;
  readonly driver: DynamoDriver;
  /** Sees every attempt of its stores. */
  readonly observer?: SendObserver;
  /** The responses' evidence about the process's clock. */
  readonly gauge: SkewGauge;
  readonly recorder: Recorder;
  readonly profile: Profile;
  readonly prng: Prng;
  /** The contents of the user's bucket, by reference; shared by all processes. */
  readonly objects: Map<string, string>;
  readonly seen: (what: string) => void;
  readonly violated: (invariant: string, message: string) => void;
  /** Asks the platform for a worker that continues a session's. */
  readonly startSuccessor: (after: string) => void;
  /** Whether the world has called time: long-lived workers then exit. */
  readonly isTimeCalled: () => boolean;
  /** The open requests of durable tasks, by the ids of their callbacks. */
  readonly questions: Map<string, Question>;
  /** Adds one to the stock. */
  readonly restock: () => void;
}

/** As long as shipped, unless three attempts would take longer than half of the TTL. */
export function attemptTimeoutOf({ ttlMs }: Pick<Profile, 'ttlMs'>): number {
  return Math.max(100, Math.min(1_500, Math.floor(ttlMs / 6)));
}

/** @param onCreated called with the tasks that these stores create */
export function storesAt(
  place: Pick<WorkerPlace, 'process' | 'driver' | 'observer' | 'recorder' | 'profile'>,
  onCreated?: TaskStoreOptions['onCreated'],
): {
  readonly sessions: SessionStore;
  readonly tasks: AnsweringStore;
  readonly locks: LockStore;
  readonly operations: TaskOperatorStore;
  readonly queues: QueueStore;
  readonly schedules: ScheduleStore;
  readonly ticks: TickStore;
  readonly semaphores: SemaphoreStore;
  readonly groups: WaitGroupStore;
  readonly buckets: RateLimitStore;
} {
  const { process, driver, observer, recorder, profile } = place;
  const policy = {
    attemptTimeoutMs: attemptTimeoutOf(profile),
    budgetMs: profile.ttlMs,
    backoff: { baseMs: 25, capMs: 500 },
  };
  const sender = new Sender({ driver, runtime: process.runtime, policy, observer });
  const stores = createStores(sender, { table: TABLE_NAME, shards: profile.shards, onCreated });
  return {
    sessions: observeSessions(stores.sessions, process, recorder),
    locks: observeLocks(stores.locks, process, recorder),
    operations: observeOperations(stores.operations, process, recorder),
    queues: observeQueues(stores.queues, process, recorder),
    schedules: observeSchedules(stores.schedules, process, recorder),
    ticks: observeTicks(stores.ticks, process, recorder),
    semaphores: observeSemaphores(stores.semaphores, process, recorder),
    groups: observeGroups(stores.groups, process, recorder),
    buckets: observeBuckets(stores.buckets, process, recorder),
    tasks: observeTasks(stores.tasks, process, recorder),
  };
}

type Options = Parameters<typeof SessionHolder.create>[0];

/** A session of this process, whose holder can be asked what it believes. */
export async function openSession(
  place: WorkerPlace,
  store: SessionStore,
  options: Pick<Options, 'name'> & Partial<Options>,
): Promise<SessionHolder> {
  const { process, profile, recorder, gauge } = place;
  const { ttlMs, lockDelayMs, maxClockSkewMs } = profile;
  const timing = sessionTiming({ ttlMs, lockDelayMs, maxClockSkewMs });
  const holder = await SessionHolder.create(
    { timing, node: process.name, behaviour: 'release', ...options },
    { store, runtime: process.runtime, gauge, events: sessionEventsAt(place) },
  );
  recorder.holds(process, holder);
  return holder;
}

/** Watches how a session is lost. */
function sessionEventsAt({ process, recorder, seen, violated }: WorkerPlace): SessionEvents {
  return {
    onLost({ reason }) {
      seen(`session lost: ${reason}`);
      recorder.happened(process.name, `session lost: ${reason}`);
      // No other process has its id, so no other can have renewed it.
      if (reason === 'superseded' || reason === 'missing')
        violated('I9', `lost its session as ${reason}, which only itself can have caused`);
    },
  };
}
