/**
 * `runWithSchedules` runs a worker that polls all shards of its queue and enqueues due schedules, so a queue needs nothing else.
 * It adds to `runWorker` the schedules, the shards and the intervals of polls.
 *
 * While idle it polls one partition at a time (`tasks/picker/partitions.ts`).
 * With eight shards of one lane it finds a task within 2 s in its first idle minute, and within 7 s afterwards; the first one with a tenant
 * or an order within 3.5 and 12 s. That costs 6 read units a second, and then 1.5 (`npm run bench -- idle`; add the index's lag).
 * A task that is enqueued in its process begins at once, or when it is due.
 */
import { enqueueDueOccurrences } from '../tasks/dispatch/recur.ts';
import { isDenied } from '../core/denied.ts';
import { StoreUnavailableError, messageOf } from '../core/errors.ts';
import type { ScheduleStore } from '../tasks/schedule/schedule.ts';
import type { TaskRegistry } from '../tasks/task/definition.ts';
import type { QueueStore } from '../tasks/task/queue-store.ts';
import { switchFinishedList } from '../tasks/task/finished-list.ts';
import { announceNames } from '../tasks/worker/announced-names.ts';
import type { WorkerPorts, WorkerReport, WorkerSettings } from '../tasks/worker/run-worker.ts';
import { runWorker } from '../tasks/worker/run-worker.ts';

export type SchedulingPorts = WorkerPorts & { readonly queues: QueueStore; readonly schedules: ScheduleStore };

export interface SchedulingSettings extends Pick<WorkerSettings, 'queue' | 'concurrency' | 'graceMs' | 'logEnds'> {
  /** Whether the queue lists its finished tasks. Default: as its row says. */
  readonly listFinished?: boolean | undefined;
  /** Minimum number of shards; the queue's row may name more. The worker owns all shards. */
  readonly shards: number;
  /** Exits when the queue has no due task. */
  readonly untilDrained: boolean;
}

type EnqueueListener = Parameters<NonNullable<WorkerPorts['onEnqueued']>>[0];

/** Maximum gaps between two polls, jittered: see above. */
export const POLL_MS = { first: 195, idle: 730 };
/**
 * Interval between checks of schedules, jittered by half, so that it does not keep missing a regular cadence.
 * Most schedules are due on the minute. After finding a schedule that is due every second, it checks every second.
 */
const RECUR_MS = { following: 1_000, idle: 3_500 };

/** @throws StoreUnavailableError, LeaseLostError before it has started; later problems are in the report */
export async function runWithSchedules(
  registry: TaskRegistry,
  ports: SchedulingPorts,
  { queue, shards: least, concurrency, graceMs, logEnds, untilDrained, listFinished }: SchedulingSettings,
  handBack: AbortSignal,
): Promise<WorkerReport> {
  const { queues, log, runtime } = ports;
  const onDamaged = (error: unknown): void => log.error('row skipped', { error: String(error) });
  const recur = (): Promise<number> => enqueueDueOccurrences(queue, ports, onDamaged);
  let found = await recur();
  await switchFinishedList(queue, listFinished, ports).catch((error: unknown) => {
    if (!isDenied(error)) throw error;
    log.warn('finished tasks are not listed', { error: messageOf(error) });
  });
  const record = await queues.glance(queue);
  await announceNames(queue, registry.keys(), record, ports);
  const shards = Math.max(least, record?.shards ?? 0);
  const settings = {
    queue,
    shards,
    concurrency,
    graceMs,
    logEnds,
    homeShards: Array.from({ length: shards }, (_, shard) => shard),
    pollMs: POLL_MS.first,
    idlePollMs: POLL_MS.idle,
    lingerMs: untilDrained ? 0 : Infinity,
    deadlineMonotonicMs: Infinity,
  };
  const listeners = new Set<EnqueueListener>();
  const onEnqueued = (listener: EnqueueListener): (() => void) => {
    listeners.add(listener);
    const stopListening = ports.onEnqueued?.(listener);
    return () => {
      stopListening?.();
      listeners.delete(listener);
    };
  };
  const isOver = new AbortController();
  const isBroken = new AbortController();
  const recurring = (async () => {
    for (;;) {
      const untilMs = found > 0 ? RECUR_MS.following : RECUR_MS.idle;
      await runtime.clock.sleep(untilMs * (0.5 + runtime.random.next()), isOver.signal);
      if (isOver.signal.aborted) return;
      try {
        found = await recur();
        if (found > 0) for (const listener of listeners) listener();
      } catch (error) {
        // The next check tries again.
        if (!(error instanceof StoreUnavailableError)) throw error;
        log.error('schedule check failed, retrying', { error: error.message });
      }
    }
  })();
  recurring.catch((error: unknown) => isBroken.abort(error));
  try {
    const stop = AbortSignal.any([handBack, isBroken.signal]);
    return await runWorker(registry, { ...ports, onEnqueued }, settings, stop);
  } finally {
    isOver.abort();
    await recurring;
  }
}
