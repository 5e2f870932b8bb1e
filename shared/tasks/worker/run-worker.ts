/**
 * `runWorker` claims and runs tasks under one session until the backlog is empty or the caller stops it.
 *
 * `concurrency` slots run in parallel, each with one claim at a time. One `TaskPicker` feeds them all.
 * An idle slot waits while other slots are busy, because their tasks may come back and new ones may arrive.
 * No timer, slot or task outlives `runWorker`, except task code that ignores its signal. Its writes are fenced.
 */
import {
  CorruptItemError,
  InvariantError,
  LeaseLostError,
  StoreUnavailableError,
  messageOf,
} from '../../core/errors.ts';
import type { SkewGauge } from '../../core/lease/skew.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { SessionStore } from '../../session/session-store.ts';
import type { Candidate, Outcome } from '../picker/candidate.ts';
import { TaskPicker } from '../picker/task-picker.ts';
import { hasFailedLong, isLastAttempt, isOverdue } from './attempt-limits.ts';
import { RowProblems } from './row-problems.ts';
import { IdlePause } from './idle-pause.ts';
import { tellOfOutage } from './outage.ts';
import { Stay, pollMsOf } from './stay.ts';
import { SoloGate } from './solo-gate.ts';
import type { TaskLog } from '../task/context.ts';
import type { AnyTask, TaskRegistry } from '../task/definition.ts';
import { runAttempt } from '../run/run-attempt.ts';
import type { RunPorts } from '../run/run-claim.ts';
import type { TaskEvents } from '../run/events.ts';
import { tell } from '../run/events.ts';
import { QueueStateCache } from './queue-state.ts';
import type { PayloadStore } from '../task/payload.ts';
import type { QueueStore } from '../task/queue-store.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { RunningTask } from '../task/task.ts';
import type { Counted, TaskTimes, WorkerCounts } from './tally.ts';
import { claimCandidate, isClaimed, outcomeOf } from './claim-candidate.ts';
import { PlanningHintsWriter } from './planning-hints.ts';
import { Tally, timesOfDone } from './tally.ts';
import type { Slice } from '../task/slice.ts';
import type { TaskSpans } from '../tracing/task-spans.ts';
import { UnknownNames } from './unknown-names.ts';

export interface WorkerSettings {
  readonly queue: string;
  readonly shards: number;
  readonly homeShards: readonly number[];
  /** The worker's part of its home shards, if other workers share them. Default: the whole. */
  readonly slice?: Slice | undefined;
  /** Ids of tasks to try first, even if they are not in the index yet. */
  readonly named?: readonly string[] | undefined;
  /** Number of tasks to run at once. */
  readonly concurrency: number;
  /** Whether each end is a line of level info, and not debug. */
  readonly logEnds?: boolean | undefined;
  /** Maximum interval of polls. A poll reads one partition: see `tasks/picker/partitions.ts`. */
  readonly pollMs: number;
  /** Poll interval after a minute in which polls found nothing. Default: `pollMs`. */
  readonly idlePollMs?: number | undefined;
  /** Idle time before exit. `Infinity`: stays until stopped, even while its queue is paused. Default: 0. */
  readonly lingerMs?: number | undefined;
  /** Whether tasks come one by one: the worker stays for the next one, and polls often. */
  readonly stays?: boolean | undefined;
  /** The worker stays for a durable task that it has suspended, if it is due again within this time. Default: 0. */
  readonly shortWaitMs?: number | undefined;
  /** A dispatcher watches unused lanes, so the worker need not poll them before it exits. Default: false. */
  readonly hasDispatcher?: boolean | undefined;
  /** Time for task code to stop after a request to hand back, or after its timeout. */
  readonly graceMs: number;
  /** Monotonic time by which the worker must have handed back every task. */
  readonly deadlineMonotonicMs: number;
  /** The dispatcher's setting. Absent: no dispatcher plans such workers, so this worker writes no planning hints. */
  readonly startWithinMs?: number | undefined;
}

export interface WorkerPorts extends Pick<RunPorts, 'client' | 'skipTime'> {
  readonly tasks: TaskStore;
  readonly sessions: SessionStore;
  /** Store for inputs that are too large for the table. */
  readonly payloads?: PayloadStore | undefined;
  /** Store of the queue's row, with the settings of operators. Without it, the queue is always open. */
  readonly queues?: QueueStore | undefined;
  readonly session: SessionHolder;
  readonly runtime: Runtime;
  readonly gauge: SkewGauge;
  readonly log: TaskLog;
  readonly events?: TaskEvents | undefined;
  readonly spans?: TaskSpans | undefined;
  /** Subscribes to enqueued tasks, with ids if known. Returns an unsubscribe function. Without it, polls find tasks. */
  readonly onEnqueued?: ((listener: (ids?: readonly string[]) => void) => () => void) | undefined;
  /** Called when a figure of the report changes. */
  readonly onCounted?: ((what: Counted, count: number) => void) | undefined;
  /** Called with a task's wait time when it is claimed, and its run time when it is done. */
  readonly onTimed?: ((name: string, times: TaskTimes) => void) | undefined;
}

export interface WorkerReport extends WorkerCounts {
  readonly ended: 'drained' | 'handedBack' | 'paused' | 'sessionLost' | 'storeUnavailable';
}

/** Runs a worker until the backlog is drained, `handBack` aborts or the session is lost. */
export function runWorker(
  registry: TaskRegistry,
  ports: WorkerPorts,
  settings: WorkerSettings,
  handBack: AbortSignal,
): Promise<WorkerReport> {
  return new QueueWorker(registry, ports, settings, handBack).run();
}

/** One hand-back may be a coincidence. After two in a row, the task probably never fits into a worker's lifetime. */
const STALLED_HAND_BACKS = 2;

/** Interval at which a long-lived worker checks whether its queue is still paused. */
const CLOSED_MS = 1_000;

class QueueWorker {
  readonly #registry: TaskRegistry;
  readonly #ports: WorkerPorts;
  readonly #settings: WorkerSettings;
  readonly #handBack: AbortSignal;
  readonly #picker: TaskPicker;
  readonly #queueState: QueueStateCache;
  readonly #soloGate: SoloGate;
  readonly #hints: PlanningHintsWriter | undefined;
  readonly #tally: Tally;
  readonly #lifeMs: number;
  readonly #rowProblems: RowProblems;
  readonly #unknown: UnknownNames;
  readonly #over = new AbortController();
  readonly #pause: IdlePause;
  readonly #stay: Stay;
  #storeFailure: unknown;
  /** Unexpected error, thrown after all slots have ended. */
  #mistake: Error | undefined;
  #isPaused = false;

  constructor(registry: TaskRegistry, ports: WorkerPorts, settings: WorkerSettings, handBack: AbortSignal) {
    this.#registry = registry;
    this.#ports = ports;
    this.#settings = settings;
    this.#handBack = handBack;
    this.#lifeMs = settings.deadlineMonotonicMs - ports.runtime.clock.monotonic();
    this.#tally = new Tally(ports.onCounted);
    this.#rowProblems = new RowProblems(ports.log, this.#tally);
    this.#unknown = new UnknownNames(registry, ports.log);
    const { queue, stays, hasDispatcher = false } = settings;
    const { maxClockSkewMs, heartbeatMs } = ports.session.timing;
    const onNoted = hasDispatcher ? (ids: readonly string[]) => this.#expect(ids) : undefined;
    this.#queueState = new QueueStateCache(queue, { ...ports, onNoted }, stays);
    this.#hints = this.#newHints();
    this.#pause = new IdlePause(ports.runtime.clock, this.#over.signal);
    this.#stay = new Stay(settings, ports.runtime.clock, this.#over.signal, (id) => this.#expect([id]));
    this.#soloGate = new SoloGate(ports.runtime.clock, this.#over.signal);
    this.#picker = new TaskPicker(
      ports.session.id,
      {
        ...settings,
        pollMs: pollMsOf(settings),
        maxClockSkewMs,
        heartbeatMs,
        hasDispatcher,
        exitsWhenEmpty: this.#stay.hasEnd,
      },
      {
        ...ports,
        lanes: () => this.#queueState.lanes,
        shards: () => this.#queueState.shards,
        isPaused: (tenant) => this.#queueState.isPaused(tenant),
        onDamaged: (error) => this.#rowProblems.damaged(error),
        onSkewed: (error) => this.#rowProblems.skewed(error),
        isTriedAlone: (found) => isLastAttempt(found, registry.get(found.task.name)),
        onWorthPolling: () => this.#pause.end(),
      },
    );
  }

  #newHints(): PlanningHintsWriter | undefined {
    const { queue, concurrency, startWithinMs } = this.#settings;
    const { queues, runtime } = this.#ports;
    if (startWithinMs === undefined || queues === undefined) return undefined;
    return new PlanningHintsWriter(
      queue,
      { concurrency, startWithinMs },
      {
        queues,
        runtime,
        known: () => this.#queueState.record,
        defined: new Set(this.#registry.keys()),
      },
    );
  }

  async run(): Promise<WorkerReport> {
    const stop = (): void => this.#over.abort();
    const stopListening = this.#ports.onEnqueued?.((ids) => this.#expect(ids));
    this.#handBack.addEventListener('abort', stop, { once: true });
    this.#ports.session.signal.addEventListener('abort', stop, { once: true });
    // Listeners do not fire for past aborts. A stop during session setup would leave us claiming and releasing forever.
    if (this.#handBack.aborted) stop();
    try {
      await this.#beginWithNamed();
      // Wait for every slot, even if others fail.
      await Promise.all(Array.from({ length: this.#settings.concurrency }, () => this.#slot()));
      await this.#hints?.finish();
      if (this.#mistake !== undefined) throw this.#mistake;
    } finally {
      stopListening?.();
      this.#handBack.removeEventListener('abort', stop);
      this.#ports.session.signal.removeEventListener('abort', stop);
    }
    return { ...this.#tally.read(), ended: this.#ended() };
  }

  #expect(ids?: readonly string[]): void {
    this.#picker.expectTasks(ids);
    this.#pause.end();
  }

  async #beginWithNamed(): Promise<void> {
    const { queue, named = [] } = this.#settings;
    if (named.length === 0) return;
    try {
      if (await this.#isOpen()) await this.#picker.beginWith(named.map((id) => ({ queue, id })));
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** Starts the next task once the current one's code has returned and the previous completion is stored. */
  async #slot(): Promise<void> {
    let ending: Promise<void> = Promise.resolve();
    while (!this.#mustStop()) {
      const candidate = await this.#next();
      if (candidate !== undefined) {
        const before = ending;
        const codeEnded = Promise.withResolvers<undefined>();
        ending = this.#work(candidate, () => codeEnded.resolve(undefined)).then(() => this.#stay.restart());
        await Promise.all([before, Promise.race([codeEnded.promise, ending])]);
      } else if (this.#picker.isDrained && this.#stay.isOver && !(await this.#queueState.hearsMore())) {
        this.#over.abort();
      } else {
        await this.#rest();
      }
    }
    await ending;
  }

  /** A slot without a candidate always rests. */
  #rest(): Promise<void> {
    return this.#pause.wait(Math.min(this.#picker.restMs, this.#queueState.restMs));
  }

  async #next(): Promise<Candidate | undefined> {
    try {
      if (await this.#isOpen()) return await this.#picker.next();
      if (this.#stay.hasEnd) {
        this.#isPaused = true;
        this.#over.abort();
      } else await this.#pause.wait(CLOSED_MS);
      return undefined;
    } catch (error) {
      this.#giveUp(error);
      await this.#rest();
      return undefined;
    }
  }

  /** Treats a queue with a damaged row as paused, because it may be. It stays closed until the row is repaired. */
  async #isOpen(): Promise<boolean> {
    try {
      return await this.#queueState.isOpen();
    } catch (error) {
      if (!(error instanceof CorruptItemError)) throw error;
      this.#rowProblems.damaged(error);
      return false;
    }
  }

  /** Asked again, because it may have waited long for a slot of its own. What this worker holds already goes on. */
  async #mayBegin({ kind, task }: Candidate): Promise<boolean> {
    return kind === 'adopted' || ((await this.#isOpen()) && !this.#queueState.isPaused(task.tenant));
  }

  /** Claims a candidate, runs it and settles it. */
  async #work(candidate: Candidate, onCodeEnded: () => void): Promise<void> {
    const { log, session, runtime } = this.#ports;
    const definition = this.#registry.get(candidate.task.name);
    // An overdue task expires, even if its name is unknown.
    if (definition === undefined && !isOverdue(candidate, runtime.clock.now())) {
      this.#unknown.note(candidate.task);
      this.#hints?.meetUnknown(candidate.task);
      this.#tally.count('unknown');
      await candidate.end('unfit');
      return;
    }
    const leave = await (isLastAttempt(candidate, definition) ? this.#soloGate.enterAlone() : this.#soloGate.enter());
    if (leave === undefined) {
      await candidate.end('contended');
      return;
    }
    let leaveSlot: (() => void) | undefined;
    try {
      const mayBegin = (await this.#mayBegin(candidate)) && !this.#mustStop();
      const claimed = mayBegin ? await this.#claim(candidate, definition) : 'untried';
      if (!isClaimed(claimed) || definition === undefined) {
        await candidate.end(isClaimed(claimed) ? 'untried' : claimed);
        return;
      }
      const task = claimed;
      this.#tally.count('claimed');
      leaveSlot = this.#hints?.begin(task);
      const { id, name, leaseCounter, attempts } = task;
      const takenOver = candidate.kind === 'abandoned';
      const claim = { task: id, name, leaseCounter, attempt: attempts, session: session.id };
      if (takenOver) log.info('task taken over from a dead worker', claim);
      else log.debug('task claimed', claim);
      this.#tell((events) => events.onClaimed?.(task, { takenOver }));
      if (!takenOver) this.#ports.onTimed?.(name, { waitMs: task.claimedAt - task.readyAt });
      const settlement = await runAttempt(
        task,
        definition,
        { takenOver },
        {
          ...this.#ports,
          handBack: this.#handBack,
          deadlineMonotonicMs: this.#settings.deadlineMonotonicMs,
          graceMs: this.#settings.graceMs,
          lifeMs: this.#lifeMs,
          onStalled: (handBacks) => {
            if (handBacks >= STALLED_HAND_BACKS) this.#tally.count('stalled');
          },
          onFollowers: (followers) => this.#picker.expectFollowers(followers),
          onSuspended: (readyAt) => void this.#stay.awaits(task.id, readyAt),
          onDamaged: (damage) => this.#rowProblems.damaged(damage),
          // A task of a key keeps its slot until its end is written.
          onCodeEnded: task.links === undefined ? onCodeEnded : undefined,
        },
      );
      if (settlement === 'retried' && hasFailedLong(task, runtime.clock.now())) this.#tally.count('failing');
      this.#tally.countSettled(settlement);
      if (settlement === 'done') this.#ports.onTimed?.(name, timesOfDone(task, runtime.clock.now()));
      this.#tell((events) => events.onSettled?.(task, settlement));
      log[this.#settings.logEnds === true ? 'info' : 'debug']('task settled', { ...claim, settlement });
      await candidate.end(outcomeOf(settlement));
    } catch (error) {
      await candidate.end(error instanceof CorruptItemError ? 'undecided' : 'kept');
      this.#giveUp(error);
    } finally {
      leaveSlot?.();
      leave();
    }
  }

  #claim(candidate: Candidate, definition: AnyTask | undefined): Promise<RunningTask | Outcome> {
    return claimCandidate(candidate, definition, {
      ...this.#ports,
      handBack: this.#handBack,
      deadlineMonotonicMs: this.#settings.deadlineMonotonicMs,
      lifeMs: this.#lifeMs,
      tally: this.#tally,
      tell: (say) => this.#tell(say),
    });
  }

  #tell(say: (events: TaskEvents) => unknown): void {
    tell(this.#ports.events, this.#ports.log, say);
  }

  #mustStop(): boolean {
    return this.#over.signal.aborted || this.#ports.session.remainingTrustMs() <= 0;
  }

  #ended(): WorkerReport['ended'] {
    if (this.#ports.session.remainingTrustMs() <= 0) return 'sessionLost';
    if (this.#storeFailure !== undefined) return 'storeUnavailable';
    // A worker that is only waiting for new tasks has nothing to hand back.
    if (this.#handBack.aborted) return this.#stay.lingerMs > 0 && this.#picker.isDrained ? 'drained' : 'handedBack';
    return this.#isPaused ? 'paused' : 'drained';
  }

  /** A damaged row does not stop the worker. An unavailable store stops claims; running tasks settle if they can. */
  #giveUp(error: unknown): void {
    if (error instanceof LeaseLostError) return;
    if (error instanceof CorruptItemError) {
      this.#rowProblems.damaged(error);
      return;
    }
    if (error instanceof StoreUnavailableError) {
      if (this.#storeFailure === undefined) tellOfOutage(error, this.#ports);
      this.#storeFailure = error;
    } else {
      this.#mistake ??= error instanceof Error ? error : new InvariantError(messageOf(error));
    }
    this.#over.abort();
  }
}
