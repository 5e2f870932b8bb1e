/**
 * A deployment of six shards, whose clients use eight: ticks, wakes of several wakers, and workers of all kinds, with what each of
 * them tells its owner: reports, events, counts, log lines.
 */
import { noSkewGauge } from '../../shared/core/lease/skew.ts';
import { sessionTiming } from '../../shared/core/lease/timing.ts';
import { SemaphoreClient } from '../../shared/coordination/semaphore/semaphore-client.ts';
import { judgeSemaphore } from '../../shared/coordination/semaphore/state.ts';
import type { SessionHolder } from '../../shared/session/keep-alive.ts';
import type { WorkEvent } from '../../shared/tasks/dispatch/dispatcher.ts';
import { dispatch, workersSemaphore } from '../../shared/tasks/dispatch/dispatcher.ts';
import { permitHolders, workerName } from '../../shared/tasks/dispatch/live-workers.ts';
import { Waker } from '../../shared/tasks/dispatch/wake.ts';
import type { EnqueueOptions } from '../../shared/tasks/queue/task-client.ts';
import type { TaskContext, TaskLog } from '../../shared/tasks/task/context.ts';
import { defineTask, registerTasks } from '../../shared/tasks/task/definition.ts';
import type { TaskStore } from '../../shared/tasks/task/task-store.ts';
import type { WorkerPorts, WorkerReport, WorkerSettings } from '../../shared/tasks/worker/run-worker.ts';
import { runWorker } from '../../shared/tasks/worker/run-worker.ts';
import type { Process, World } from './coordination.ts';
import type { Death } from './mortal.ts';
import { Mortal } from './mortal.ts';
import { shown } from './story.ts';
import { openHolder } from './open-holder.ts';

export const QUEUE = 'default';
const MAX_SKEW_MS = 1_000;
export const SETTINGS = {
  queue: QUEUE,
  shards: 6,
  maxWorkers: 5,
  concurrency: 3,
  startWithinMs: 8_000,
  maxClockSkewMs: MAX_SKEW_MS,
};
const TIMING = sessionTiming({ ttlMs: 9_000, heartbeatMs: 3_000, lockDelayMs: 0, maxClockSkewMs: MAX_SKEW_MS });

const occurred = (counts: object): object =>
  Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0 && count !== undefined));

const inOrder = (counts: object): object =>
  Object.fromEntries(Object.entries(occurred(counts)).sort(([one], [other]) => (one < other ? -1 : 1)));

export interface Enqueued {
  readonly name: string;
  readonly does: string;
  readonly ids: readonly string[];
  readonly options: EnqueueOptions;
}

/** A session of a worker that holds tasks without an end. */
interface Holding {
  readonly session: SessionHolder;
  readonly release: (() => Promise<unknown>) | undefined;
  readonly death: Mortal;
}

export class Fleet {
  readonly #world: World;
  /** Each process has some. */
  readonly #wakers = new Map<Process, Map<number, Waker>>();
  readonly #damages: string[] = [];
  readonly #started: WorkEvent[] = [];
  readonly #holding: Holding[] = [];
  #ticks = 0;
  /** Whether the index and eventually consistent reads are behind. */
  lag: 'none' | 'index' | 'rows' = 'none';

  constructor(world: World) {
    this.#world = world;
  }

  async enqueue({ leasehold }: Process, { name, does, ids, options }: Enqueued): Promise<unknown> {
    const answers = [];
    for (const id of ids) answers.push((await leasehold.tasks.enqueue(name, { does }, { ...options, id })).created);
    return answers.every((one) => one) ? 'created' : answers;
  }

  async tick(at: Process, delivery: 'new' | 'again' | 'retried'): Promise<unknown> {
    if (delivery === 'new') this.#ticks++;
    const by = delivery === 'again' ? 'another' : `request of ${this.#ticks}`;
    const ports = { ...this.#portsOf(at), ticks: at.ports.ticks };
    const tick = { schedule: 'minutely', scheduledTime: String(this.#ticks) };
    const report = await dispatch(tick, by, ports, SETTINGS);
    return { ...occurred(report), ...this.#told() };
  }

  async wake(at: Process, nth: number, ids: readonly string[]): Promise<unknown> {
    const known = this.#wakers.get(at) ?? new Map<number, Waker>();
    const waker = known.get(nth) ?? new Waker(this.#portsOf(at), SETTINGS);
    this.#wakers.set(at, known.set(nth, waker));
    return { ...(await waker.wake(ids)), ...this.#told() };
  }

  /** Workers started and damaged rows found since the last call. */
  #told(): object {
    const starts = this.#started.splice(0).map(({ queue: _, ...event }) => shown(event));
    return occurred({ starts: starts.join(' ') || undefined, damages: this.#damages.splice(0).join() || undefined });
  }

  #portsOf({ ports, runtime }: Process) {
    const semaphores = new SemaphoreClient(ports, { maxClockSkewMs: MAX_SKEW_MS });
    const name = workersSemaphore(QUEUE);
    const tasks: TaskStore = {
      ...ports.tasks,
      page: (...query) =>
        this.lag === 'index' ? Promise.resolve({ hints: [], next: undefined }) : ports.tasks.page(...query),
      getMany: (...query) => (this.lag === 'rows' ? Promise.resolve([]) : ports.tasks.getMany(...query)),
    };
    return {
      ...ports,
      tasks,
      runtime,
      workers: {
        startWorker: (event: WorkEvent) => {
          this.#started.push(event);
          return this.#started.length % 4 === 3 ? Promise.reject(new Error('throttled')) : Promise.resolve();
        },
        declareLimit: () => semaphores.declareLimit(name, SETTINGS.maxWorkers),
        liveHolders: async () => {
          const row = await ports.semaphores.get(name);
          const options = { maxClockSkewMs: MAX_SKEW_MS };
          return permitHolders(row && (await judgeSemaphore(row, options, ports)));
        },
      },
      onDamaged: (error: unknown) => void this.#damages.push(String(error)),
    };
  }

  /** A worker takes tasks and stays, with or without a permit. */
  async hold(at: Process, ids: readonly string[], hasPermit: boolean): Promise<unknown> {
    const death = new Mortal();
    const process = this.#world.start({}, { ids: at.runtime.ids, random: at.runtime.random });
    const attempt = process.driver.attempt.bind(process.driver);
    process.driver.attempt = (...request) => death.step(() => attempt(...request));
    const { ports, runtime } = process;
    const session = await openHolder(
      { timing: TIMING, name: workerName(QUEUE), node: 'node' },
      { store: ports.sessions, runtime },
    );
    const semaphores = new SemaphoreClient(ports, { maxClockSkewMs: MAX_SKEW_MS });
    const limit = SETTINGS.maxWorkers;
    const permit = hasPermit ? await semaphores.tryAcquire(session, workersSemaphore(QUEUE), { limit }) : undefined;
    const release = permit?.kind === 'acquired' ? () => permit.permit.release() : undefined;
    const held: string[] = [];
    for (const id of ids) {
      const row = await ports.tasks.get({ queue: QUEUE, id });
      if (row?.state !== 'ready' || runtime.clock.now() < row.readyAt) continue;
      const claimed = await ports.tasks.claim(row, session.id, { now: runtime.clock.now(), nonce: `${id} is held` });
      if (claimed.kind === 'applied') held.push(id);
    }
    this.#holding.push({ session, release, death });
    return { permit: permit?.kind, held: held.join() };
  }

  /** The oldest of them leaves, or its process dies. */
  async leave(how: 'leaves' | 'dies'): Promise<unknown> {
    const first = this.#holding.shift();
    if (first === undefined) return 'nobody';
    if (how === 'dies') {
      void first.death.kill();
      return first.session.id;
    }
    await first.release?.();
    await first.session.end();
    return first.session.id;
  }
}

export type Kind = Pick<WorkerSettings, 'homeShards' | 'concurrency'> &
  Partial<Pick<WorkerSettings, 'slice' | 'lingerMs' | 'hasDispatcher' | 'startWithinMs' | 'named' | 'idlePollMs'>> & {
    readonly lastsMs: number;
    readonly death?: Death;
    readonly announced?: readonly string[];
  };

/** Runs a worker until its backlog is drained, its time is over, or it dies; returns all that it told. */
export async function work(
  world: World,
  at: Process,
  kind: Kind,
  meddle: <Ports extends object>(ports: Ports) => Ports = (ports) => ports,
): Promise<unknown> {
  const { death, lastsMs, announced, ...settings } = kind;
  const process = world.start({}, { ids: at.runtime.ids, random: at.runtime.random });
  const mortal = new Mortal(death);
  process.driver.attempt = (...request) => mortal.step(() => at.driver.attempt(...request));
  const { runtime, ports } = process;
  const told: string[] = [];
  const log: TaskLog = {
    debug: () => undefined,
    info: (message) => void told.push(`info ${message}`),
    warn: (message) => void told.push(`warn ${message}`),
    error: (message, facts) => void told.push(`error ${message} ${shown(facts.task ?? facts.error)}`),
  };
  const counted = new Map<string, number>();
  const times: string[] = [];
  const run = async (): Promise<unknown> => {
    const session = await openHolder(
      { timing: TIMING, name: workerName(QUEUE), node: 'node' },
      { store: ports.sessions, runtime },
    );
    const handBack = new AbortController();
    const cancel = runtime.clock.after(lastsMs, () => handBack.abort());
    const cancels = [cancel];
    const worker: WorkerPorts = {
      ...meddle(ports),
      session,
      runtime,
      gauge: noSkewGauge,
      log,
      events: {
        onClaimed: ({ id }, { takenOver }) => void told.push(`${takenOver ? 'takes over' : 'claims'} ${id}`),
        onSettled: ({ id }, settlement) => void told.push(`${settlement} ${id}`),
        onDied: ({ id }) => void told.push(`buries ${id}`),
        onExpired: ({ id }) => void told.push(`drops ${id}`),
      },
      onCounted: (what, count) => void counted.set(what, (counted.get(what) ?? 0) + count),
      onTimed: (_, { waitMs, runMs, endToEndMs }) =>
        void times.push(`${waitMs ?? ''}/${runMs ?? ''}/${endToEndMs ?? ''}`),
      onEnqueued: (listener) => {
        cancels.push(runtime.clock.after(700, () => listener(announced)));
        return () => void told.push('stops listening');
      },
    };
    const all = {
      ...settings,
      queue: QUEUE,
      shards: SETTINGS.shards,
      pollMs: 500,
      graceMs: 1_000,
      deadlineMonotonicMs: runtime.clock.monotonic() + lastsMs + 2_000,
    };
    try {
      return await runWorker(
        registerTasks({ work: defineTask({ name: 'work', run: behave(world) }) }),
        worker,
        all,
        handBack.signal,
      );
    } finally {
      for (const each of cancels) each();
      await session.end();
    }
  };
  const report = (await Promise.race([run(), mortal.death])) as WorkerReport | undefined;
  const { ended = 'died', settled, ...counts } = report ?? {};
  const reported = inOrder({ ...counts, ...settled });
  const said = inOrder(Object.fromEntries(counted));
  const difference = report === undefined || shown(reported) === shown(said) ? undefined : reported;
  return occurred({ ended, ...said, difference, told: told.join(', '), times: times.join(' ') || undefined });
}

function behave({ clock }: World) {
  return async ({ does }: { readonly does: string }, context: TaskContext): Promise<unknown> => {
    const { id, attempt, signal, progress } = context;
    if (does === 'fail') throw new Error(`attempt ${attempt} of ${id}`);
    if (does === 'nap') await clock.sleep(2_500);
    if (does === 'long') await clock.sleep(20_000, signal);
    signal.throwIfAborted();
    if (does === 'snooze' && progress === undefined) {
      await context.saveProgress('slept');
      return context.snooze('3s');
    }
    return { does };
  };
}
