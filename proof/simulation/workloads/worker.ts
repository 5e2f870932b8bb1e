/** The shipped worker as one invocation runs it: a session, tasks until the backlog is drained or time is up, and an orderly end. */
import { createStores } from '../../../shared/client/stores.ts';
import type { DynamoDriver } from '../../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../../shared/dynamo/engine/send.ts';
import { noSkewGauge } from '../../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../../shared/core/lease/timing.ts';
import type { SessionEvents } from '../../../shared/session/keep-alive.ts';
import { SessionHolder } from '../../../shared/session/keep-alive.ts';
import type { RateLimitStore } from '../../../shared/coordination/ratelimit/ratelimit-store.ts';
import type { SemaphoreStore } from '../../../shared/coordination/semaphore/semaphore-store.ts';
import type { SessionStore } from '../../../shared/session/session-store.ts';
import type { LockStore } from '../../../shared/coordination/lock/lock-store.ts';
import type { TaskEvents } from '../../../shared/tasks/run/events.ts';
import type { TaskLog } from '../../../shared/tasks/task/context.ts';
import { HandedBackError } from '../../../shared/tasks/task/control.ts';
import type { SlotStore } from '../../../shared/tasks/dispatch/slot-store.ts';
import type { TaskOperatorStore } from '../../../shared/tasks/task/task-operator-store.ts';
import type { QueueStore } from '../../../shared/tasks/task/queue-store.ts';
import type { ScheduleStore } from '../../../shared/tasks/schedule/schedule-store.ts';
import { standAtWork } from '../../../shared/client/standing-worker.ts';
import type { TaskAndPackStore } from '../../../shared/tasks/bulk/pack-store.ts';
import type { WorkerReport } from '../../../shared/tasks/worker/worker.ts';
import { runWorker } from '../../../shared/tasks/worker/worker.ts';
import type { WaitGroupStore } from '../../../shared/coordination/waitgroup/waitgroup-store.ts';
import type { Prng } from '../../../test/support/machines/prng.ts';
import type { SimulatedProcess } from '../../../test/support/machines/process.ts';
import { observeBuckets, observeGroups, observeSemaphores } from '../observed-coordination.ts';
import { observeQueues, observeSchedules, observeSlots } from '../observed-dispatch.ts';
import { observePacks } from '../observed-packs.ts';
import { observeLocks, observeOperations, observeSessions, observeTasks } from '../observed-stores.ts';
import type { Invocation } from '../fleet.ts';
import type { Profile } from '../profile.ts';
import type { Recorder } from '../recorder.ts';
import { QUEUE_NAME, TABLE_NAME } from '../rows.ts';
import type { BucketObjects } from './bucket.ts';
import { bucketAt } from './bucket.ts';
import { workInChain } from './chain.ts';
import type { TaskStore } from '../../../shared/tasks/task/task-store.ts';
import { tasksAt } from './task-code.ts';
import { knowsAllTasks, parks } from './versions.ts';

export const QUEUE = QUEUE_NAME;
export const START_WITHIN_MS = 2_000;

const SEND_HOME_EVERY_MS = 5_000;

const silentLog: TaskLog = { debug() {}, info() {}, warn() {}, error() {} };

export interface WorkerPlace {
  readonly process: SimulatedProcess;
  readonly driver: DynamoDriver;
  readonly recorder: Recorder;
  readonly profile: Profile;
  readonly prng: Prng;
  /** What is in the user's bucket. */
  readonly objects: BucketObjects;
  readonly seen: (what: string) => void;
  readonly violated: (invariant: string, message: string) => void;
  /** Asks the platform for a worker that continues a session's. */
  readonly startSuccessor: (after: string) => void;
  /** Whether the world has called time: who stays goes home. */
  readonly isTimeCalled: () => boolean;
}

export function storesAt(place: Pick<WorkerPlace, 'process' | 'driver' | 'recorder' | 'profile'>): {
  readonly sessions: SessionStore;
  readonly tasks: TaskAndPackStore;
  readonly locks: LockStore;
  readonly operations: TaskOperatorStore;
  readonly queues: QueueStore;
  readonly schedules: ScheduleStore;
  readonly slots: SlotStore;
  readonly semaphores: SemaphoreStore;
  readonly groups: WaitGroupStore;
  readonly buckets: RateLimitStore;
} {
  const { process, driver, recorder, profile } = place;
  const attemptTimeoutMs = Math.max(100, Math.min(1_500, Math.floor(profile.ttlMs / 6)));
  const policy = { attemptTimeoutMs, budgetMs: profile.ttlMs, backoff: { baseMs: 25, capMs: 500 } };
  const sender = new Sender({ driver, runtime: process.runtime, policy });
  const stores = createStores(sender, { table: TABLE_NAME, shards: profile.shards });
  return {
    sessions: observeSessions(stores.sessions, process, recorder),
    locks: observeLocks(stores.locks, process, recorder),
    operations: observeOperations(stores.operations, process, recorder),
    queues: observeQueues(stores.queues, process, recorder),
    schedules: observeSchedules(stores.schedules, process, recorder),
    slots: observeSlots(stores.slots, process, recorder),
    semaphores: observeSemaphores(stores.semaphores, process, recorder),
    groups: observeGroups(stores.groups, process, recorder),
    buckets: observeBuckets(stores.buckets, process, recorder),
    tasks: {
      ...observeTasks(stores.tasks, process, recorder),
      bulk: observePacks(stores.tasks.bulk, process, recorder),
    },
  };
}

/** Watches how a session is lost. */
export function sessionEventsAt({ process, recorder, seen, violated }: WorkerPlace): SessionEvents {
  return {
    onLost({ reason }) {
      seen(`session lost: ${reason}`);
      recorder.happened(process.name, `session lost: ${reason}`);
      // No other process has its id, so none can have renewed it.
      if (reason === 'superseded' || reason === 'missing')
        violated('I9', `lost its session as ${reason}, which only itself can have caused`);
    },
  };
}

/** @returns how the worker ended */
export async function work(place: WorkerPlace, event: Invocation): Promise<string> {
  const { process, profile, recorder, prng, seen, violated } = place;
  const { runtime } = process;
  const { ttlMs, lockDelayMs, maxClockSkewMs } = profile;
  const { sessions, tasks, queues, schedules } = storesAt(place);
  const session = await SessionHolder.create(
    {
      timing: sessionTiming({ ttlMs, lockDelayMs, maxClockSkewMs }),
      name: 'worker',
      node: process.name,
      behaviour: 'release',
    },
    {
      store: sessions,
      runtime,
      gauge: noSkewGauge,
      events: sessionEventsAt(place),
    },
  );
  recorder.holds(process, session);
  const handBack = new AbortController();
  const finished = new AbortController();
  const graceMs = Math.floor(profile.invocationMs / 10);
  const deadlineMonotonicMs = runtime.clock.monotonic() + Math.floor(0.9 * profile.invocationMs);
  void runtime.clock.sleep(Math.floor(0.7 * profile.invocationMs), finished.signal).then(() => {
    if (!finished.signal.aborted) handBack.abort(new HandedBackError('the deadline is near', { isDeadline: true }));
  });
  const stays = profile.stays && !place.isTimeCalled();
  if (stays) void sendHome(place, handBack, finished.signal);
  try {
    const settings = {
      queue: QUEUE,
      shards: profile.shards,
      homeShards: event.homeShards ?? homeShardsOf(place),
      concurrency: profile.concurrency,
      pollMs: 1_250,
      graceMs,
      deadlineMonotonicMs,
      named: event.tasks,
      hasDispatcher: true,
      startWithinMs: START_WITHIN_MS,
    };
    // The longest tasks still fit into an invocation, so that every one of them ends some day.
    const slowMs = Math.min(ttlMs, profile.invocationMs / 8);
    const registry = tasksAt(
      { process, holder: session, recorder, prng, slowMs, seen, violated },
      knowsAllTasks(session.id),
    );
    const payloads = bucketAt(place, prng.fork('bucket'));
    const events: TaskEvents = {
      onClaimed({ id, name }) {
        if (!registry.has(name)) violated('NAME', `claimed ${id}, a task ${name} that it does not know`);
      },
    };
    const ports = {
      tasks: parks(session.id) ? tasks : withoutParking(tasks),
      sessions,
      queues,
      payloads,
      session,
      runtime,
      events,
      gauge: noSkewGauge,
      log: silentLog,
    };
    return await workInChain(place, session, event, async () => {
      const report = stays
        ? await standAtWork(registry, { ...ports, schedules }, { ...settings, untilDrained: false }, handBack.signal)
        : await runWorker(registry, ports, settings, handBack.signal);
      seeReport(report, seen);
      return report;
    });
  } finally {
    finished.abort();
    await session.end();
  }
}

/** A worker that stays is told to go when time is called. */
async function sendHome(
  { process, isTimeCalled }: WorkerPlace,
  handBack: AbortController,
  over: AbortSignal,
): Promise<void> {
  while (!isTimeCalled() && !over.aborted) await process.runtime.clock.sleep(SEND_HOME_EVERY_MS, over);
  if (!over.aborted) handBack.abort(new HandedBackError('time was called'));
}

/** As in a version before parking, which neither parks nor puts back. */
function withoutParking<Store extends TaskStore>(tasks: Store): Store {
  const nothing = (): Promise<readonly never[]> => Promise.resolve([]);
  const parking = { ...tasks.parking, park: nothing, putBack: nothing, repairParked: nothing };
  return { ...tasks, parking: { ...parking, defer: () => Promise.resolve() } };
}

/** Some of the shards, at least one: as a dispatcher deals them. */
function homeShardsOf({ profile, prng }: WorkerPlace): readonly number[] {
  const first = prng.integer(0, profile.shards - 1);
  return Array.from({ length: profile.shards }, (_, shard) => shard).filter(
    (shard) => shard === first || prng.chance(0.3),
  );
}

function seeReport(report: WorkerReport, seen: (what: string) => void): void {
  for (const [settlement, count] of Object.entries(report.settled))
    for (let n = 0; n < count; n++) seen(`task ${settlement}`);
  for (const what of ['takenOver', 'claimsRefused', 'buried', 'expired', 'unknown', 'damaged'] as const)
    for (let n = 0; n < report[what]; n++) seen(`worker ${what}`);
}
