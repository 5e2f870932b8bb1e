/**
 * A worker: claims and runs tasks under one session until the backlog is empty or it is told to stop.
 *
 * `concurrency` slots work side by side, each one claim at a time; one backlog feeds them all.
 * When nothing is due, the slots that have nothing to do wait as long as others are at work, for their tasks may come back, or new ones come in.
 * No timer, slot or task of a worker outlives `runWorker`, but for task code that does not listen to its signal; that is fenced.
 */
import type { ClockSkewError } from '../errors.ts';
import { runTaskOrPage } from '../bulk/run-page.ts';
import { CorruptItemError, InvariantError, LeaseLostError, StoreUnavailableError, messageOf } from '../errors.ts';
import type { SkewGauge } from '../lease/skew.ts';
import { stampOf } from '../lease/stamp.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { SessionHolder } from '../session/holder.ts';
import { limitsOf } from '../session/limits.ts';
import type { SessionStore } from '../session/store.ts';
import { Backlog } from './backlog.ts';
import type { Candidate } from './candidates.ts';
import { Company } from './company.ts';
import type { TaskLog } from './context.ts';
import type { TaskRegistry } from './definition.ts';
import { DEFAULT_RETRY } from './definition.ts';
import type { TaskEvents } from './events.ts';
import { tell } from './events.ts';
import { QueueGate } from './gate.ts';
import type { PayloadStore } from './payload.ts';
import type { QueueStore } from './queue-store.ts';
import type { Settlement } from './settle.ts';
import type { TaskStore } from './store.ts';
import type { ReadyTask, RunningTask } from './task.ts';

export interface WorkerSettings {
  readonly queue: string;
  readonly shards: number;
  readonly homeShards: readonly number[];
  /** Tasks at work side by side. */
  readonly concurrency: number;
  /** Wait between looks at an empty backlog while tasks are still at work here. */
  readonly pollMs: number;
  /** How long task code may take to stop once asked to hand back, or past its timeout. */
  readonly graceMs: number;
  /** Monotonic moment by which everything must be handed back. */
  readonly deadlineMonotonicMs: number;
}

export interface WorkerPorts {
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
  /** Where inputs are that do not fit into the table; absent: nowhere. */
  readonly payloads?: PayloadStore | undefined;
  /** What operators have set; absent: nothing. */
  readonly queues?: QueueStore | undefined;
  readonly session: SessionHolder;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
  readonly log: TaskLog;
  readonly events?: TaskEvents | undefined;
}

/** What one worker did. */
export interface WorkerReport {
  readonly claimed: number;
  /** Claims of tasks whose holders had died; part of `claimed`. */
  readonly takenOver: number;
  readonly claimsRefused: number;
  readonly buried: number;
  /** Dropped because nobody had started them before they expired. */
  readonly expired: number;
  /** Rows that cannot be used, or not any more. */
  readonly damaged: number;
  /** Tasks; those of a page one by one. */
  readonly settled: Readonly<Record<Settlement, number>>;
  readonly ended: 'drained' | 'handedBack' | 'paused' | 'sessionLost' | 'storeUnavailable';
}

/** Runs until the backlog is drained, `handBack` aborts, or the session is lost. */
export function runWorker(
  registry: TaskRegistry,
  ports: WorkerPorts,
  settings: WorkerSettings,
  handBack: AbortSignal,
): Promise<WorkerReport> {
  return new Worker(registry, ports, settings, handBack).run();
}

class Worker {
  readonly #registry: TaskRegistry;
  readonly #ports: WorkerPorts;
  readonly #settings: WorkerSettings;
  readonly #handBack: AbortSignal;
  readonly #backlog: Backlog;
  readonly #gate: QueueGate;
  readonly #company = new Company();
  readonly #counts = { claimed: 0, takenOver: 0, claimsRefused: 0, buried: 0, expired: 0 };
  readonly #damages = new Set<string>();
  readonly #settled: Record<Settlement, number> = {
    done: 0,
    retried: 0,
    dead: 0,
    released: 0,
    snoozed: 0,
    cancelled: 0,
    lost: 0,
    unsettled: 0,
  };
  /** Wakes the slots that wait while the backlog is empty. */
  readonly #over = new AbortController();
  #storeFailure: unknown;
  /** An error that nobody foresaw: thrown when all slots have ended. */
  #mistake: Error | undefined;
  #isPaused = false;
  #isSkewed = false;

  constructor(registry: TaskRegistry, ports: WorkerPorts, settings: WorkerSettings, handBack: AbortSignal) {
    this.#registry = registry;
    this.#ports = ports;
    this.#settings = settings;
    this.#handBack = handBack;
    const { queue, shards, homeShards, pollMs } = settings;
    const { maxClockSkewMs, heartbeatMs } = ports.session.timing;
    this.#gate = new QueueGate(queue, ports.queues, ports.runtime.clock);
    this.#backlog = new Backlog(
      ports.session.id,
      { queue, shards, homeShards, pollMs, maxClockSkewMs, heartbeatMs },
      {
        ...ports,
        lanes: () => this.#gate.lanes,
        shards: () => this.#gate.shards,
        onDamaged: (error) => this.#onDamaged(error),
        onSkewed: (error) => this.#onSkewed(error),
      },
    );
  }

  /** Until the backlog is empty, or there is a reason to stop. */
  async run(): Promise<WorkerReport> {
    const stop = (): void => {
      this.#over.abort();
    };
    this.#handBack.addEventListener('abort', stop, { once: true });
    this.#ports.session.signal.addEventListener('abort', stop, { once: true });
    try {
      // Each slot is seen to its end, whatever becomes of the others.
      await Promise.all(Array.from({ length: this.#settings.concurrency }, () => this.#slot()));
      if (this.#mistake !== undefined) throw this.#mistake;
    } finally {
      this.#handBack.removeEventListener('abort', stop);
      this.#ports.session.signal.removeEventListener('abort', stop);
    }
    return { ...this.#counts, damaged: this.#damages.size, settled: this.#settled, ended: this.#ended() };
  }

  async #slot(): Promise<void> {
    while (!this.#mustStop()) {
      const candidate = await this.#next();
      if (candidate !== undefined) {
        await this.#work(candidate);
      } else if (this.#backlog.isDrained) {
        this.#over.abort();
      } else if (!this.#backlog.isIdle) {
        await this.#pause();
      }
    }
  }

  #pause(): Promise<void> {
    const { clock, random } = this.#ports.runtime;
    return clock.sleep(this.#settings.pollMs * (0.5 + 0.5 * random.next()), this.#over.signal);
  }

  async #next(): Promise<Candidate | undefined> {
    try {
      if (await this.#isOpen()) return await this.#backlog.next();
      this.#isPaused = true;
      this.#over.abort();
      return undefined;
    } catch (error) {
      this.#giveUp(error);
      await this.#pause();
      return undefined;
    }
  }

  /** Nobody knows whether a queue is paused whose row is damaged: it is closed until somebody has repaired it. */
  async #isOpen(): Promise<boolean> {
    try {
      return await this.#gate.isOpen();
    } catch (error) {
      if (!(error instanceof CorruptItemError)) throw error;
      this.#onDamaged(error);
      return false;
    }
  }

  /** Claims a candidate and sees it through. */
  async #work(candidate: Candidate): Promise<void> {
    const { log, session } = this.#ports;
    const leave = await this.#company.enter(this.#isLastChance(candidate));
    try {
      // Waiting for the place may have taken long.
      const task = this.#mustStop() ? undefined : await this.#claim(candidate);
      if (task === undefined) {
        this.#backlog.putBack(candidate.task);
        return;
      }
      this.#counts.claimed++;
      const { id, name, leaseCounter, attempts } = task;
      log.debug('task claimed', {
        task: id,
        name,
        leaseCounter,
        attempt: attempts,
        session: session.id,
        takenOver: candidate.kind === 'abandoned',
      });
      this.#tell((events) => events.onClaimed?.(task, { takenOver: candidate.kind === 'abandoned' }));
      const { settlement, settled } = await runTaskOrPage(task, this.#registry.get(name), {
        ...this.#ports,
        handBack: this.#handBack,
        deadlineMonotonicMs: this.#settings.deadlineMonotonicMs,
        graceMs: this.#settings.graceMs,
        onFollowers: () => this.#backlog.expectFollowers(),
      });
      for (const [how, count] of Object.entries(settled)) this.#settled[how as Settlement] += count;
      this.#tell((events) => events.onSettled?.(task, settlement));
      log.debug('task settled', { task: id, name, leaseCounter, session: session.id, settlement });
      if (settlement === 'unsettled') this.#backlog.park(task);
      else this.#backlog.settle(task);
    } catch (error) {
      if (error instanceof CorruptItemError) this.#backlog.park(candidate.task);
      else this.#backlog.settle(candidate.task);
      this.#giveUp(error);
    } finally {
      leave();
    }
  }

  /** Its last holder died, and so may its next: see `company.ts`. */
  #isLastChance({ kind, task }: Candidate): boolean {
    const hasDied = kind === 'abandoned' || task.past.at(-1)?.how === 'died';
    return hasDied && task.attempts + 1 === this.#maxAttempts(task.name);
  }

  async #claim(candidate: Candidate): Promise<RunningTask | undefined> {
    const { tasks, session, runtime } = this.#ports;
    if (candidate.kind === 'adopted') return candidate.task;
    // A page loses the item that killed its holder, and lives on.
    const isBuriable = candidate.kind === 'abandoned' && candidate.task.bulk === undefined;
    if (isBuriable && candidate.task.attempts >= this.#maxAttempts(candidate.task.name)) {
      await this.#bury(candidate.task);
      return undefined;
    }
    const stamp = stampOf(runtime);
    if (candidate.kind === 'ready' && isExpired(candidate.task, stamp.now)) {
      const { kind } = await tasks.expire(candidate.task, stamp);
      if (kind === 'applied') this.#noteExpiry(candidate.task);
      this.#backlog.skip(candidate.task);
      return undefined;
    }
    const limits = limitsOf(session);
    const outcome =
      candidate.kind === 'ready'
        ? await tasks.claim(candidate.task, session.id, stamp, limits)
        : await tasks.takeOver(candidate.task, session.id, stamp, limits);
    if (outcome.kind === 'applied') {
      if (candidate.kind === 'abandoned') this.#counts.takenOver++;
      return outcome.row;
    }
    this.#counts.claimsRefused++;
    if (candidate.task.links?.key === undefined) this.#backlog.skip(candidate.task);
    else this.#backlog.turnAway(candidate.task);
    return undefined;
  }

  /** The task used up its attempts by killing, or outliving, every worker that took it. */
  async #bury(task: RunningTask): Promise<void> {
    const { tasks, runtime, log } = this.#ports;
    const now = runtime.clock.now();
    const message = `its worker died ${task.attempts} times without a word, the last in session ${task.session}`;
    const error = { name: 'WorkerDied', message, at: now };
    const outcome = await tasks.bury(task, error, { now, nonce: runtime.ids.unique() });
    if (outcome.kind === 'applied') {
      this.#counts.buried++;
      this.#tell((events) => events.onBuried?.(task, error));
      log.error('task is dead', { task: task.id, name: task.name, error });
    }
    this.#backlog.skip(task);
  }

  #noteExpiry(task: ReadyTask): void {
    this.#counts.expired++;
    this.#tell((events) => events.onExpired?.(task));
  }

  #tell(say: (events: TaskEvents) => void): void {
    tell(this.#ports.events, this.#ports.log, say);
  }

  #maxAttempts(name: string): number {
    return (this.#registry.get(name)?.retry ?? DEFAULT_RETRY).maxAttempts;
  }

  #mustStop(): boolean {
    return this.#over.signal.aborted || this.#ports.session.remainingTrustMs() <= 0;
  }

  #ended(): WorkerReport['ended'] {
    if (this.#ports.session.remainingTrustMs() <= 0) return 'sessionLost';
    if (this.#storeFailure !== undefined) return 'storeUnavailable';
    if (this.#handBack.aborted) return 'handedBack';
    return this.#isPaused ? 'paused' : 'drained';
  }

  /** A row that cannot be understood stops nobody; a store that is gone stops claiming, while the tasks at work settle as they can. */
  #giveUp(error: unknown): void {
    if (error instanceof LeaseLostError) return;
    if (error instanceof CorruptItemError) {
      this.#onDamaged(error);
      return;
    }
    if (error instanceof StoreUnavailableError) {
      this.#storeFailure = error;
      this.#ports.log.error('store unavailable, no more claims', { error: error.message });
    } else {
      this.#mistake ??= error instanceof Error ? error : new InvariantError(messageOf(error));
    }
    this.#over.abort();
  }

  #onSkewed({ message: error }: ClockSkewError): void {
    if (!this.#isSkewed) this.#ports.log.error('nothing is taken over', { error });
    this.#isSkewed = true;
  }

  /** Its entry is met with every page that is read; it is told of once. */
  #onDamaged(error: unknown): void {
    const found = String(error);
    if (this.#damages.has(found)) return;
    this.#damages.add(found);
    this.#ports.log.error('row skipped', { error: found });
  }
}

function isExpired({ expiresAt }: ReadyTask, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}
