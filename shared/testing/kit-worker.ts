/** The workers of a test kit: the production's worker, on a clock that passes only between the steps of task code. */
import { LeaseLostError, messageOf, assert } from '../core/errors.ts';
import { noSkewGauge } from '../core/lease/skew.ts';
import { sessionTiming } from '../core/lease/timing.ts';
import { systemClock } from '../core/runtime/clock.ts';
import { warn } from '../core/runtime/host.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import type { Duration } from '../core/validate/duration.ts';
import { givenMs } from '../core/validate/duration.ts';
import { SessionHolder } from '../session/keep-alive.ts';
import type { WorkerClient } from '../client/leasehold-of.ts';
import type { TaskStores } from '../client/task-stores.ts';
import type { TaskEvents } from '../tasks/run/events.ts';
import type { TaskLog } from '../tasks/task/context.ts';
import { observed, steadyLog } from '../tasks/task/context.ts';
import { HandedBackError } from '../tasks/task/control.ts';
import type { TaskRegistry } from '../tasks/task/definition.ts';
import type { PayloadStore } from '../tasks/task/payload.ts';
import type { RunningTask } from '../tasks/task/task.ts';
import type { TaskSpans } from '../tasks/tracing/task-spans.ts';
import type { TaskTimes } from '../tasks/worker/tally.ts';
import type { WorkerReport } from '../tasks/worker/run-worker.ts';
import { runWorker } from '../tasks/worker/run-worker.ts';
import type { CrashPoint } from './crash-points.ts';
import type { EndedAttempt } from './attempt-watch.ts';
import { AttemptWatch, RunawayWatch } from './attempt-watch.ts';
import { dying, limited, mapTasks } from './crash-points.ts';
import type { FakeClock } from './fake-clock.ts';
import { DurableTime } from './skipped-time.ts';
import { WorkerProcess, currentProcess } from './worker-process.ts';
import { silent } from './silent-log.ts';

export interface WorkOptions {
  /**
   * Advances the clock while task code runs, so code that hangs hits its timeout, or the end of its worker's lifetime,
   * which is then 15 minutes by default. Default: false, the clock stops while task code runs.
   */
  readonly timePasses?: boolean;
  /** The worker's lifetime: at its end the worker hands back its running tasks, and aborts the signal of code that lets time pass. */
  readonly lifetime?: Duration;
}

/** How a worker of the kit ended, and each attempt that ended in it. */
export interface DrainReport extends WorkerReport {
  /** In the order of their ends; a task that is retried is here once for each attempt. */
  readonly tasks: readonly EndedAttempt[];
}

interface WorkPlan extends WorkOptions {
  readonly concurrency: number;
  readonly attempts?: number;
  readonly crash?: CrashPoint;
}

interface KitWorkerPorts {
  /** For `leaseholdOf`. */
  readonly client: WorkerClient;
  readonly stores: TaskStores;
  readonly runtime: Runtime;
  readonly clock: FakeClock;
  readonly spans: TaskSpans;
  readonly queue: string;
  readonly events?: TaskEvents | undefined;
  readonly payloads?: PayloadStore | undefined;
  readonly log?: TaskLog | undefined;
  readonly onTimed?: ((name: string, times: TaskTimes) => void) | undefined;
}

export const SHARDS = 1;
const TTL_MS = 30_000;
/** For task code to stop after its signal is aborted. */
const GRACE_MS = 1_000;
/** The longest that a Lambda lives. */
const LAMBDA_LIFE_MS = 15 * 60_000;
/** Real time, shorter than the timeouts of test runners, which end the test without a reason. */
const PATIENCE_MS = 3_000;

export class KitWorkers {
  readonly #registry: TaskRegistry;
  readonly #ports: KitWorkerPorts & { readonly log: TaskLog };
  readonly #runaway: RunawayWatch;

  constructor(registry: TaskRegistry, ports: KitWorkerPorts) {
    this.#registry = mapTasks(registry, (definition) => ({
      ...definition,
      run: async (input, task) => {
        const running = currentProcess()?.running;
        const name = `${definition.name} ${task.id}`;
        running?.add(name);
        try {
          return await definition.run(input, task);
        } finally {
          running?.delete(name);
        }
      },
    }));
    this.#runaway = new RunawayWatch(ports.clock);
    this.#ports = { ...ports, log: steadyLog(ports.log ?? silent) };
  }

  /** Begins another run, in which the same ids are other tasks. */
  forget(): void {
    this.#runaway.forget();
  }

  /** Runs a worker that nobody kills, until its end. */
  async work(plan: WorkPlan): Promise<DrainReport> {
    const report = await this.workIn(new WorkerProcess(), plan);
    assert(report !== undefined, 'a worker was killed without a kill');
    return report;
  }

  /** @returns undefined if the process was killed */
  async workIn(process: WorkerProcess, plan: WorkPlan): Promise<DrainReport | undefined> {
    const { timePasses = false, lifetime = timePasses ? LAMBDA_LIFE_MS : undefined } = plan;
    const lifetimeMs = givenMs('lifetime', lifetime) ?? Infinity;
    const stopWatching = systemClock.after(PATIENCE_MS, () => {
      if (!timePasses && !process.isWaiting) warn(stillRunning([...process.running]));
    });
    try {
      return await this.#ports.clock.runUntil(
        process.run(() => this.#work(process, plan, lifetimeMs)),
        () => !process.isTurning && (timePasses || process.isWaiting),
        Infinity,
      );
    } finally {
      stopWatching();
    }
  }

  async #work(process: WorkerProcess, plan: WorkPlan, lifetimeMs: number): Promise<DrainReport> {
    const { stores, client, runtime, clock, queue, events, log, payloads, spans, onTimed } = this.#ports;
    const timing = sessionTiming({ ttlMs: TTL_MS, lockDelayMs: 0 });
    const session = await SessionHolder.create(
      { timing, name: 'test', node: 'test', behaviour: 'release' },
      { store: stores.sessions, runtime, gauge: noSkewGauge },
    );
    const lost = new LeaseLostError(`session ${session.id}`, 'expired', 'the test killed its worker');
    const die = (): never => {
      session.markLost(lost);
      throw lost;
    };
    process.onKilled(() => session.markLost(lost));
    const handBack = new AbortController();
    const watch = new AttemptWatch(this.#runaway, () => handBack.abort());
    const watched = watch.events(events);
    const ports = {
      ...stores,
      tasks: limited(watch.store(stores.tasks), plan.attempts ?? Infinity, () => handBack.abort()),
      client,
      payloads,
      session,
      runtime,
      gauge: noSkewGauge,
      log,
      spans,
      onTimed: (name: string, times: TaskTimes) =>
        observed(
          () => onTimed?.(name, times),
          (error) => log.error('onTimed failed', { error: messageOf(error) }),
        ),
      skipTime: () => new DurableTime((ms) => clock.advance(ms)),
      events: {
        ...watched,
        onClaimed: (task: RunningTask, how: { readonly takenOver: boolean }) => {
          process.life.claims.push(task.id);
          return watched.onClaimed?.(task, how);
        },
        ...(plan.crash === 'afterSettle' && { onSettled: () => session.markLost(lost) }),
      },
    };
    const settings = {
      queue,
      shards: SHARDS,
      homeShards: [0],
      concurrency: plan.concurrency,
      pollMs: 100,
      graceMs: GRACE_MS,
      deadlineMonotonicMs: clock.monotonic() + lifetimeMs,
    };
    const isOver = new AbortController();
    if (lifetimeMs < Infinity)
      void clock.sleep(Math.max(0, lifetimeMs - GRACE_MS), isOver.signal).then(() => {
        if (!isOver.signal.aborted)
          handBack.abort(new HandedBackError('the lifetime of its worker is over', { isDeadline: true }));
      });
    // At the end of its lifetime a worker hands back its running tasks; after `attempts` it only stops claiming.
    try {
      const registry = plan.crash === undefined ? this.#registry : dying(this.#registry, plan.crash, die);
      const report = await runWorker(registry, ports, settings, handBack.signal);
      await session.end();
      watch.ensureEnds();
      return { ...report, tasks: watch.ended };
    } finally {
      isOver.abort();
    }
  }
}

/** Sums two reports. It ends like the first that did not end drained. */
export function together(one: DrainReport, other: DrainReport): DrainReport {
  const { ended, tasks, settled, ...counts } = one;
  const sum = <Counts extends object>(a: Counts, b: Counts): Counts =>
    Object.fromEntries(
      Object.entries(a).map(([name, count]) => [name, Number(count) + Number(b[name as keyof Counts])]),
    ) as Counts;
  return {
    ...sum(counts, other as typeof counts),
    settled: sum(settled, other.settled),
    ended: ended === 'drained' ? other.ended : ended,
    tasks: [...tasks, ...other.tasks],
  };
}

function stillRunning(names: readonly string[]): string {
  return (
    `the test kit waits for the code of ${names.join(', ')}, and its clock stands still meanwhile: ` +
    'if that code waits for a time-out, pass { timePasses: true }'
  );
}
