/**
 * `runUntilStopped` runs a worker for the whole life of its process: the core of `leasehold work` and `createWorker`.
 * It adds to `runWithSchedules` the definition of the module's schedules, a session,
 * and a restart after a lost session or an outage of the store.
 */
import type { Cancel } from '../core/runtime/clock.ts';
import { workerName } from '../tasks/dispatch/live-workers.ts';
import { LeaseLostError, StoreUnavailableError } from '../core/errors.ts';
import type { Leasehold } from './leasehold.ts';
import type { TaskModule } from '../tasks/run/task-module.ts';
import type { Session } from './session.ts';
import type { SessionEvents } from '../session/keep-alive.ts';
import { describeBlock } from '../session/event-loop-lag.ts';
import { defineSchedules } from '../tasks/schedule/schedule-client.ts';
import type { ScheduleDefinition } from '../tasks/schedule/schedule.ts';
import type { SchedulingPorts, SchedulingSettings } from './run-with-schedules.ts';
import { runWithSchedules } from './run-with-schedules.ts';
import type { TaskLog } from '../tasks/task/context.ts';
import type { WorkerReport } from '../tasks/worker/run-worker.ts';

type KeptPorts = Omit<SchedulingPorts, 'session' | 'events' | 'payloads'> & {
  readonly leasehold: Pick<Leasehold, 'session'>;
  /** Ends all requests: called when the time to stop is over. */
  readonly stopSending: () => void;
};

interface KeptSettings extends SchedulingSettings {
  /** Session TTL: how long after its last heartbeat other workers take its tasks over. */
  readonly sessionTtlMs: number;
  readonly codeVersion?: string | undefined;
}

/** Tasks, by how they ended here. */
export interface WorkTotals {
  readonly done: number;
  /** Failed, and retried later. */
  readonly retried: number;
  /** Failed for the last time, or marked dead because its workers crashed. */
  readonly dead: number;
  /** Handed back, snoozed, cancelled, waiting for children, expired or lost. */
  readonly other: number;
}

/** For the last writes after the grace period. Without an answer they are given up, whatever the session's TTL: containers are killed. */
const LAST_WRITES_MS = 1_250;

/** Pause before it starts again after an outage, or while the queue is paused, jittered. */
const RESTART_MS = 1_000;

/** A worker that only drains waits so long for tasks that it has just postponed: half of first retries are due by then. */
const RETRY_SOON_MS = 1_000;

/**
 * Runs until `handBack` aborts or, if it only drains, until no task is due, and none of its retries within a second.
 * @throws ConfigurationError for an invalid schedule, and if the store denies access
 */
export async function runUntilStopped(
  work: TaskModule,
  ports: KeptPorts,
  settings: KeptSettings,
  handBack: AbortSignal,
): Promise<WorkTotals> {
  const { runtime, leasehold, log } = ports;
  const sessionOptions = {
    name: workerName(settings.queue),
    ttl: settings.sessionTtlMs,
    lockDelay: 0,
    codeVersion: settings.codeVersion,
    events: sessionLog(log),
  };
  await using kept = {
    session: undefined as Session | undefined,
    async [Symbol.asyncDispose]() {
      await this.session?.end().catch((error: unknown) => {
        // If the store does not respond, the session expires.
        if (!(error instanceof StoreUnavailableError)) throw error;
      });
    },
  };
  let cancel: Cancel | undefined;
  using stopping = {
    onStop: () => {
      cancel = runtime.clock.after(settings.graceMs + LAST_WRITES_MS, ports.stopSending);
    },
    [Symbol.dispose]() {
      handBack.removeEventListener('abort', this.onStop);
      cancel?.();
    },
  };
  handBack.addEventListener('abort', stopping.onStop, { once: true });
  const schedules = work.schedules.map((each) => ({ ...each, options: { queue: settings.queue, ...each.options } }));
  const totals = { done: 0, retried: 0, dead: 0, other: 0 };
  const onEnded = ({ name, endAt }: ScheduleDefinition): void =>
    log.info('schedule has ended', { schedule: name, endAt });
  let isDefined = false;
  while (!handBack.aborted) {
    try {
      if (!isDefined) await defineSchedules({ ...ports, queue: settings.queue, onEnded }, schedules);
      isDefined = true;
      // One session for its whole life: an idle worker writes only its heartbeats.
      if (kept.session === undefined || kept.session.signal.aborted)
        kept.session = await leasehold.session(sessionOptions);
      const attached = { ...ports, events: work.events, payloads: work.payloads, session: kept.session.holder };
      const report = await runWithSchedules(work.registry, attached, settings, handBack);
      count(report, totals);
      if (settings.untilDrained && report.ended === 'drained') {
        if (report.settled.retried === 0) break;
        await runtime.clock.sleep(RETRY_SOON_MS, handBack);
        continue;
      }
    } catch (error) {
      if (error instanceof StoreUnavailableError) log.error('store unavailable, retrying', { error: error.message });
      else if (!(error instanceof LeaseLostError)) throw error;
    }
    await runtime.clock.sleep(RESTART_MS * (0.5 + runtime.random.next()), handBack);
  }
  return totals;
}

function sessionLog(log: TaskLog): SessionEvents {
  return {
    onBlocked: (lateMs) => log.warn('event loop blocked', { lateMs, error: describeBlock(lateMs) }),
    onLost: ({ message: error, reason }) => log.error('session lost', { error, reason }),
  };
}

function count(
  { settled: { done, retried, dead, ...others }, markedDead }: WorkerReport,
  totals: { -readonly [Name in keyof WorkTotals]: number },
): void {
  totals.done += done;
  totals.retried += retried;
  totals.dead += dead + markedDead;
  totals.other += Object.values(others).reduce((sum, tasks) => sum + tasks, 0);
}
