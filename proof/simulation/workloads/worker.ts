/** The shipped worker as one invocation runs it: a session, tasks until the backlog is drained or time is up, and an orderly end. */
import type { TaskEvents } from '../../../shared/tasks/run/events.ts';
import type { TaskLog } from '../../../shared/tasks/task/context.ts';
import { sha256 } from '../../../shared/core/runtime/sha256.ts';
import { HandedBackError } from '../../../shared/tasks/task/control.ts';
import { runWithSchedules } from '../../../shared/client/run-with-schedules.ts';
import type { WorkerReport } from '../../../shared/tasks/worker/run-worker.ts';
import { runWorker } from '../../../shared/tasks/worker/run-worker.ts';
import { SHORT_WAIT_MS } from '../../../shared/tasks/worker/stay.ts';
import { EnqueueBus } from '../../../shared/tasks/queue/enqueue-bus.ts';
import type { Invocation } from '../fleet.ts';
import { TABLE_NAME } from '../rows.ts';
import { bucketAt } from './bucket.ts';
import { workInChain } from './chain.ts';
import type { Question } from './durable-code.ts';
import { tasksAt } from './task-code.ts';

import type { WorkerPlace } from './worker-place.ts';
import { QUEUE, START_WITHIN_MS, openSession, storesAt } from './worker-place.ts';

const SEND_HOME_EVERY_MS = 5_000;

const silentLog: TaskLog = { debug() {}, info() {}, warn() {}, error() {} };

/** @returns how the worker ended */
export async function work(place: WorkerPlace, event: Invocation): Promise<string> {
  const { process, profile, recorder, prng, seen, violated, restock } = place;
  const { runtime } = process;
  const ask = (question: Question): void => void place.questions.set(question.callbackId, question);
  // As in `shared/client`: a long-lived worker learns of the tasks that its own process enqueues.
  const bus = new EnqueueBus();
  const { sessions, tasks, queues, schedules } = storesAt(place, (created, now) =>
    bus.announce(TABLE_NAME, created, now),
  );
  const session = await openSession(place, sessions, { name: 'worker' });
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
      slice: event.slice,
      concurrency: profile.concurrency,
      pollMs: 1_250,
      ...(profile.idlePollMs > 0 ? { idlePollMs: profile.idlePollMs } : {}),
      lingerMs: profile.lingerMs,
      stays: event.stays,
      shortWaitMs: SHORT_WAIT_MS,
      graceMs,
      deadlineMonotonicMs,
      named: event.tasks,
      hasDispatcher: profile.dispatches,
      startWithinMs: START_WITHIN_MS,
    };
    // The longest tasks still fit into an invocation, so that every one of them ends some day.
    const slowMs = Math.min(profile.ttlMs, profile.invocationMs / 8);
    const registry = tasksAt(
      { process, holder: session, recorder, prng, slowMs, seen, violated, restock, ask },
      knowsAllTasks(session.id),
    );
    const payloads = bucketAt(place, prng.fork('bucket'));
    const events: TaskEvents = {
      onClaimed({ id, name }) {
        if (!registry.has(name)) violated('NAME', `claimed ${id}, a task ${name} that it does not know`);
      },
    };
    const ports = {
      tasks,
      sessions,
      queues,
      payloads,
      session,
      runtime,
      events,
      gauge: place.gauge,
      log: silentLog,
    };
    return await workInChain(place, session, event, async () => {
      const report = stays
        ? await runWithSchedules(
            registry,
            { ...ports, schedules, onEnqueued: (listener) => bus.listen(TABLE_NAME, QUEUE, listener) },
            { ...settings, untilDrained: false },
            handBack.signal,
          )
        : await runWorker(registry, ports, settings, handBack.signal);
      seeReport(report, seen);
      return report;
    });
  } finally {
    finished.abort();
    await session.end();
  }
}

/** Tells a long-lived worker to exit when time is called. */
async function sendHome(
  { process, isTimeCalled }: WorkerPlace,
  handBack: AbortController,
  over: AbortSignal,
): Promise<void> {
  while (!isTimeCalled() && !over.aborted) await process.runtime.clock.sleep(SEND_HOME_EVERY_MS, over);
  if (!over.aborted) handBack.abort(new HandedBackError('time was called'));
}

/**
 * Half of the workers belong to a deployment without one of the tasks.
 * A hash of the session's id decides, so no random draw depends on it, and idle workers whose ids have even distances differ.
 */
function knowsAllTasks(session: string): boolean {
  return Number.parseInt(sha256(session).slice(0, 2), 16) % 2 === 0;
}

/** Some of the shards, at least one, as a dispatcher assigns them; or all, as a process of the user's has. */
function homeShardsOf({ profile, prng }: WorkerPlace): readonly number[] {
  const first = prng.integer(0, profile.shards - 1);
  return Array.from({ length: profile.shards }, (_, shard) => shard).filter(
    (shard) => shard === first || prng.chance(0.3) || profile.fullKeys,
  );
}

function seeReport(report: WorkerReport, seen: (what: string) => void): void {
  for (const [settlement, count] of Object.entries(report.settled))
    for (let n = 0; n < count; n++) seen(`task ${settlement}`);
  for (const what of ['takenOver', 'claimsRefused', 'markedDead', 'expired', 'unknown', 'damaged'] as const)
    for (let n = 0; n < report[what]; n++) seen(`worker ${what}`);
}
