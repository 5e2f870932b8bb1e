/**
 * Runs one claim, from the task code's first line to the write that settles it.
 *
 * At most one operation of the claim is in flight at a time, and the settling operation is the last:
 * a late `saveProgress` of code that outlived its attempt is refused here, before the store could refuse it.
 *
 * Ends of an attempt:
 *
 * | task code | settled as |
 * | --- | --- |
 * | committed, snoozed or suspended | as it asked; its later actions are ignored |
 * | returned | done, with the returned value |
 * | threw, or took longer than its timeout | ready again after a wait, or dead |
 * | threw because our own store did not answer | ready again after a wait, attempt refunded, progress kept |
 * | threw, or did not stop, after it was asked to hand back | ready again at once, attempt refunded, progress kept; dead with `maxAttempts: 1` |
 * | threw, or did not stop, after it was cancelled; or was cancelled before it began | cancelled |
 * | its lease was lost | not at all: another worker has it |
 */
import { isDenied } from '../../core/denied.ts';
import type { CorruptItemError } from '../../core/errors.ts';
import { LeaseLostError, messageOf } from '../../core/errors.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { truthfulSignal } from '../../session/truthful-signal.ts';
import type { TaskContext, TaskLog } from '../task/context.ts';
import { DoNotRetry, HandedBackError, TaskCancelledError, TaskTimeoutError, UnfitInputError } from '../task/control.ts';
import type { AnyTask } from '../task/definition.ts';
import { isAtMostOnce, retryOf, timeoutMsOf } from '../task/definition.ts';
import { describeIssues } from '../../core/validate/parsed-schema.ts';
import { storableJson } from '../task/storable-json.ts';
import type { PayloadStore } from '../task/payload.ts';
import { runInTaskScope } from '../task/task-scope.ts';
import { inputOf } from '../task/payload.ts';
import { MAX_EPOCH_MS } from '../../core/validate/moment.ts';
import { AttemptLink } from './attempt-link.ts';
import { blockWatchOf } from './block-watch.ts';
import { ClaimWriter, namesOf } from './claim-writer.ts';
import { SideWrites } from './side-writes.ts';
import type { SkippedTime } from './claim-holder.ts';
import { contextOf } from './run-context.ts';
import { EachItems } from './each.ts';
import { GivenOperations } from './given-operations.ts';
import type { Ending } from './ending.ts';
import { aborted, cancelled } from './ending.ts';
import type { Failure, Settlement } from './settle.ts';
import { MAX_HAND_BACKS, judgeFailure, judgeHandBack, judgeOutage } from './settle.ts';
import { describeThrown, readable } from './thrown.ts';
import type { AttemptTrace } from './traced.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { Claim, Json, RunningTask, TaskKey } from '../task/task.ts';
import { NOT_PERMITTED, RESULT_LIMIT_BYTES, claimOf, describeTask, revocationOf } from '../task/task.ts';

export interface RunPorts {
  readonly tasks: TaskStore;
  /** The store of inputs that do not fit into the table. */
  readonly payloads?: PayloadStore | undefined;
  readonly session: SessionHolder;
  readonly runtime: Runtime;
  readonly log: TaskLog;
  /** Aborts when the worker must hand its tasks back; code then has `graceMs` to stop. */
  readonly handBack: AbortSignal;
  /** Monotonic time by which the worker must be done. */
  readonly deadlineMonotonicMs: number;
  readonly graceMs: number;
  /** Total lifetime of the worker. */
  readonly lifeMs: number;
  /** Called when the task is handed back again without progress. `handBacks`: how many times in a row. */
  readonly onStalled?: (handBacks: number) => void;
  readonly onFollowers?: (followers?: readonly TaskKey[]) => void;
  /** Called when a durable task waits until this time. */
  readonly onSuspended?: (readyAt: number) => void;
  /** Called for a damaged row of a durable task. */
  readonly onDamaged?: (damage: CorruptItemError) => void;
  /** Called when the task code has ended, before its end is written. */
  readonly onCodeEnded?: (() => void) | undefined;
  readonly trace?: AttemptTrace | undefined;
  /** The worker's client, for `leaseholdOf`. */
  readonly client?: object | undefined;
  /** See `ClaimHolder`. */
  readonly skipTime?: (() => SkippedTime) | undefined;
}

export async function runClaim(task: RunningTask, definition: AnyTask, ports: RunPorts): Promise<Settlement> {
  return new ClaimRun(task, definition, ports).run();
}

class ClaimRun {
  readonly #task: RunningTask;
  readonly #claim: Claim;
  readonly #definition: AnyTask;
  readonly #ports: RunPorts;
  readonly #startedAt: number;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  /** Ends all timers of this run. */
  readonly #finished = new AbortController();
  readonly #sideWrites: SideWrites;
  /** Whether the task's code has begun. */
  #hasBegun = false;
  /** Whether the attempt has saved new progress. */
  #hasProgressed = false;
  /** Whether the task continues with its follower. */
  #isFollowed = false;
  readonly #writer: ClaimWriter;
  readonly #given = new GivenOperations();
  readonly #link: AttemptLink;
  readonly #items: EachItems;

  constructor(task: RunningTask, definition: AnyTask, ports: RunPorts) {
    this.#task = task;
    this.#claim = claimOf(task);
    this.#definition = definition;
    this.#ports = ports;
    this.#link = new AttemptLink(ports.client);
    this.#writer = new ClaimWriter(task, {
      ...ports,
      onFollowed: () => {
        this.#isFollowed = true;
      },
      onLost: (lost) => this.#stop.abort(lost),
    });
    this.#sideWrites = new SideWrites(task, ports, this.#finished.signal);
    this.#startedAt = ports.runtime.clock.monotonic();
    this.#signal = truthfulSignal(this.#stop.signal, () => {
      if (ports.session.signal.aborted) this.#stop.abort(ports.session.signal.reason);
    });
    this.#items = new EachItems(task, {
      runtime: ports.runtime,
      signal: this.#signal,
      finished: this.#finished.signal,
    });
  }

  async run(): Promise<Settlement> {
    const unlink = this.#linkSignals();
    try {
      const ending = this.#endingBefore() ?? (await this.#execute());
      await this.#writer.idle();
      this.#ports.onCodeEnded?.();
      const settlement = this.#writer.settlement ?? (await this.#settleIfPermitted(ending));
      if (settlement === 'done' || this.#isFollowed) await this.#sideWrites.dropPayload();
      if (this.#isFollowed) this.#ports.onFollowers?.();
      return settlement;
    } finally {
      this.#finished.abort(FINISHED);
      unlink();
      await this.#link.end();
    }
  }

  /** Runs the task code until it ends, or until its grace period after a stop request is over. */
  async #execute(): Promise<Ending> {
    const running = this.#callTask().then(
      (value): Ending => ({ kind: 'returned', value }),
      (error: unknown): Ending => ({ kind: 'threw', error: readable(error) }),
    );
    const stopped = this.#waitForGrace();
    const ending = await Promise.race([running, stopped]);
    const reason: unknown = this.#stop.signal.aborted ? this.#stop.signal.reason : undefined;
    if (reason instanceof LeaseLostError) return { kind: 'lost' };
    // If code still returned in time, its result counts; an error thrown after a stop request counts as having stopped.
    if (ending.kind === 'returned' || reason === undefined) return ending;
    if (reason instanceof TaskCancelledError) return cancelled(reason.message);
    if (ending.kind === 'threw' && ending.error instanceof DoNotRetry) return ending;
    return reason instanceof HandedBackError
      ? { kind: 'handedBack', isDeadline: reason.isDeadline }
      : { kind: 'threw', error: reason };
  }

  async #callTask(): Promise<unknown> {
    const { name } = this.#task;
    this.#stop.signal.throwIfAborted();
    const input = await inputOf(this.#task, this.#ports, this.#stop.signal);
    const schema = this.#definition.input;
    if (schema === undefined) return this.#runCode(input as never);
    const validated = await schema['~standard'].validate(input);
    if (validated.issues !== undefined)
      throw new UnfitInputError(
        `input does not fit the schema of ${name}: ${describeIssues(validated.issues)}`,
        validated.issues,
      );
    return this.#runCode(validated.value);
  }

  async #runCode(input: never): Promise<unknown> {
    const context = await this.#context();
    this.#hasBegun = true;
    const code = (): unknown => runInTaskScope(this.#task, () => this.#definition.run(input, context));
    const value = await blockWatchOf(this.#ports).run(this.#task, code);
    await this.#given.ended();
    return value;
  }

  /**
   * Resolves when the code must stop and its grace period is over; at once if the lease is lost, because then there is nothing to wait for.
   */
  async #waitForGrace(): Promise<Ending> {
    await aborted(this.#stop.signal);
    const isLost = this.#stop.signal.reason instanceof LeaseLostError;
    if (!isLost) await this.#sideWrites.grace();
    return { kind: 'threw', error: this.#stop.signal.reason };
  }

  /**
   * Returns how it ends if its code must not run: it was cancelled, or its last attempt is over and only the end was not permitted, which is
   * tried again.
   */
  #endingBefore(): Ending | undefined {
    const { attempts, lastError, cancellation } = this.#task;
    if (cancellation !== undefined) return cancelled(cancellation.reason);
    if (lastError?.name !== NOT_PERMITTED || attempts <= retryOf(this.#definition, this.#task).maxAttempts)
      return undefined;
    return { kind: 'threw', error: new NotPermitted(lastError.message) };
  }

  /**
   * If a permission is missing for the end, the attempt fails, and the row names the grant. A failure needs fewer rows than another end:
   * it leaves the batch and the line as they are. If a dead task is not permitted either, it waits, and its end is tried again.
   */
  async #settleIfPermitted(ending: Ending): Promise<Settlement> {
    const { log, runtime } = this.#ports;
    let denied: unknown;
    const tried = async (settle: () => Promise<Settlement>): Promise<Settlement | undefined> => {
      try {
        return await settle();
      } catch (error) {
        if (!isDenied(error)) throw error;
        denied ??= error;
        return undefined;
      }
    };
    const settled = await tried(() => this.#settle(ending));
    if (settled !== undefined) return settled;
    const error = new NotPermitted(messageOf(denied), { cause: denied });
    log.error('a permission is missing to end a task', { ...namesOf(this.#claim), error: error.message });
    const failed = await tried(() => this.#settle({ kind: 'threw', error }));
    if (failed !== undefined) return failed;
    const waiting = { name: error.name, message: error.message, at: runtime.clock.now() };
    const postponed = await tried(() =>
      this.#finishFailed({ kind: 'retry', error: waiting, delayMs: NOT_PERMITTED_PAUSE_MS }),
    );
    // Writes to its row are impossible: the end of the session frees it.
    return postponed ?? 'unsettled';
  }

  async #settle(ending: Ending): Promise<Settlement> {
    const { tasks, runtime } = this.#ports;
    if (ending.kind === 'lost') return 'lost';
    if (ending.kind !== 'returned') await this.#items.recordAtEnd();
    if (ending.kind === 'handedBack') return this.#handBackAfter(ending.isDeadline);
    if (ending.kind === 'cancelled')
      return this.#writer.finish('cancelled', (stamp, limits) =>
        tasks.giveUp(this.#claim, ending.reason, stamp, limits),
      );
    if (ending.kind === 'returned') return this.#complete(ending.value);
    const policy = retryOf(this.#definition, this.#task);
    const at = { now: runtime.clock.now(), random: runtime.random };
    const thrown = describeThrown(ending.error);
    const outage = judgeOutage(ending.error, this.#task, policy, at);
    if (outage !== undefined) {
      this.#ports.log.warn('task handed back: store unavailable', { ...namesOf(this.#claim), ...outage });
      return this.#finishFailed(outage);
    }
    const failure = judgeFailure(ending.error, this.#task.attempts, policy, at);
    const { queue, id, name, attempts } = this.#task;
    this.#ports.log.warn('task attempt failed', {
      task: id,
      name,
      queue,
      attempt: attempts,
      error: { ...thrown, ...failure.error },
      then: failure.kind,
    });
    const settlement = await this.#finishFailed(failure);
    if (settlement === 'retried' || settlement === 'dead') await this.#sideWrites.keepStack(thrown);
    return settlement;
  }

  #finishFailed(failure: Failure): Promise<Settlement> {
    const { tasks, runtime } = this.#ports;
    const { error } = failure;
    if (failure.kind === 'dead')
      return this.#writer.finish('dead', (stamp, limits) => tasks.discard(this.#claim, error, stamp, limits));
    // Task code may request any wait. A wait beyond the last valid date never ends.
    const readyAt = Math.min(runtime.clock.now() + failure.delayMs, MAX_EPOCH_MS);
    const { isRefunded = false } = failure;
    return this.#writer.finish(isRefunded ? 'released' : 'retried', (stamp, limits) =>
      tasks.retry(this.#claim, { error, readyAt, isRefunded }, stamp, limits),
    );
  }

  async #handBackAfter(isDeadline: boolean): Promise<Settlement> {
    const { tasks, runtime, lifeMs, log, onStalled } = this.#ports;
    const ranMs = runtime.clock.monotonic() - this.#startedAt;
    const isSpent = this.#hasBegun && isAtMostOnce(this.#definition, this.#task);
    const attempt = { isDeadline, isSpent, hasProgressed: this.#hasProgressed, ranMs, lifeMs };
    const handBack = judgeHandBack(this.#task, attempt, runtime.clock.now());
    if (handBack.kind === 'dead') {
      log.error('task is dead', { ...namesOf(this.#claim), error: handBack.error });
      if (!isSpent) onStalled?.(MAX_HAND_BACKS);
      return this.#writer.finish('dead', (stamp, limits) => tasks.discard(this.#claim, handBack.error, stamp, limits));
    }
    const { handBacks } = handBack;
    if (handBacks !== undefined && handBacks > 0) {
      log.warn('task handed back without progress', { ...namesOf(this.#claim), handBacks, ranMs });
      onStalled?.(handBacks);
    }
    return this.#writer.finish('released', (stamp, limits) =>
      tasks.release({ ...this.#claim, handBacks }, stamp, limits),
    );
  }

  /**
   * If a result cannot be stored, running the task again would not help: the task is dead.
   */
  async #complete(value: unknown): Promise<Settlement> {
    const { tasks } = this.#ports;
    let result: Json | undefined;
    try {
      if (value !== undefined)
        result = storableJson(`the result of ${describeTask(this.#claim)}`, value, RESULT_LIMIT_BYTES);
    } catch (error) {
      return this.#settle({ kind: 'threw', error: new DoNotRetry(messageOf(error), { cause: error }) });
    }
    return this.#writer.finish('done', (stamp, limits) => tasks.complete(this.#claim, result, stamp, limits));
  }

  /** Reads the children's counts only if the task has children. */
  async #context(): Promise<TaskContext> {
    const { tasks, runtime, payloads, log, session } = this.#ports;
    const { children: batch } = this.#task;
    const children = batch === undefined ? undefined : await tasks.getBatch(batch);
    return contextOf(this.#task, children, {
      tasks,
      runtime,
      payloads,
      log,
      signal: this.#signal,
      remainingMs: () => this.#remainingMs(),
      nextSequence: () => session.nextSequence(),
      verb: (settlement, send, name) => this.#writer.verb(settlement, send, name),
      given: this.#given,
      link: this.#link,
      items: this.#items,
      trace: this.#ports.trace,
      skipTime: this.#ports.skipTime,
      onFollowers: (followers) => this.#ports.onFollowers?.(followers),
      onSuspended: (readyAt) => this.#ports.onSuspended?.(readyAt),
      onDamaged: (damage) => this.#ports.onDamaged?.(damage),
      onProgress: () => {
        this.#hasProgressed = true;
      },
      onFollowed: () => {
        this.#isFollowed = true;
      },
    });
  }

  #remainingMs(): number {
    const { runtime, deadlineMonotonicMs } = this.#ports;
    const now = runtime.clock.monotonic();
    const timeoutMs = timeoutMsOf(this.#definition, this.#task) ?? Infinity;
    return Math.max(0, Math.min(deadlineMonotonicMs - now, this.#startedAt + timeoutMs - now));
  }

  /** Passes every reason to stop on to the task's own signal. Returns a function that removes the listeners. */
  #linkSignals(): () => void {
    const { session, handBack, runtime } = this.#ports;
    const onLost = (): void => this.#stop.abort(session.signal.reason);
    const onHandBack = (): void => this.#stop.abort(handBack.reason);
    session.signal.addEventListener('abort', onLost, { once: true });
    handBack.addEventListener('abort', onHandBack, { once: true });
    if (session.signal.aborted) onLost();
    if (handBack.aborted) onHandBack();
    const stopListening = session.onRevoked(revocationOf(this.#claim), () =>
      this.#stop.abort(new TaskCancelledError('an operator or a caller cancelled it while it ran')),
    );
    const timeoutMs = timeoutMsOf(this.#definition, this.#task);
    if (timeoutMs !== undefined)
      void runtime.clock.sleep(timeoutMs, this.#finished.signal).then(() => {
        if (!this.#finished.signal.aborted)
          this.#stop.abort(new TaskTimeoutError(`the attempt took longer than its timeout of ${timeoutMs} ms`));
      });
    return () => {
      session.signal.removeEventListener('abort', onLost);
      handBack.removeEventListener('abort', onHandBack);
      stopListening();
    };
  }
}

/** Pause before an end that was not permitted is tried again. */
const NOT_PERMITTED_PAUSE_MS = 60_000;

class NotPermitted extends Error {
  override readonly name = NOT_PERMITTED;
}

/** An explicit reason avoids building a DOMException, the expensive part of abort(). */
const FINISHED = 'finished';
