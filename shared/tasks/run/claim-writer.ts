/**
 * `ClaimWriter` sends the operations of one claim, one at a time, and the ending operation until the store has decided it.
 * Otherwise the task could stay `running` for as long as its worker lives, although no worker runs its code.
 */
import { isDenied } from '../../core/denied.ts';
import { LeaseLostError, StoreUnavailableError, messageOf } from '../../core/errors.ts';
import type { WriteLimits, Stamp } from '../../core/lease/stamp.ts';
import { stampOf } from '../../core/lease/stamp.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { limitsWithinTrust } from '../../session/limits.ts';
import type { TaskLog, TaskContext } from '../task/context.ts';
import { describeMiscount } from '../task/batch.ts';
import type { CommitOutcome, Settled, TaskStore, NewTask } from '../task/task-store.ts';
import type { Cancellation, Claim, ReadyTask, RunningTask } from '../task/task.ts';
import { claimOf, describeTask } from '../task/task.ts';
import type { Settlement } from './settle.ts';
import { settlementOf } from './settle.ts';
import type { AttemptTrace } from './traced.ts';
import { spanOfEnd } from './traced.ts';
import { sendWithin } from '../tracing/tracing.ts';
import type { PayloadPorts, PayloadStore } from '../task/payload.ts';
import { dropPayload } from '../task/payload.ts';
import { rejectedBy } from './ending.ts';
import type { Thrown } from './thrown.ts';
import { stackOf } from './thrown.ts';
import type { CorruptItemError } from '../../core/errors.ts';

interface ClaimWriterPorts {
  readonly tasks: TaskStore;
  readonly session: SessionHolder;
  readonly runtime: Runtime;
  readonly log: TaskLog;
  readonly handBack: AbortSignal;
  readonly trace?: AttemptTrace | undefined;
  /** Called when the operation that ended the claim has started its follower. */
  readonly onFollowed: () => void;
  /** Called when an operation shows that the claim is no longer ours. */
  readonly onLost: (lost: LeaseLostError) => void;
}

/**
 * Longest pause between requests that end a task. Each request was tried for a session's whole trust window, unless the row was contended.
 */
const RESEND_MS = 1_000;

export class ClaimWriter {
  readonly #task: RunningTask;
  readonly #claim: Claim;
  readonly #ports: ClaimWriterPorts;
  #settlement: Settlement | undefined;
  /** The operation in flight; the next one waits for it. */
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(task: RunningTask, ports: ClaimWriterPorts) {
    this.#task = task;
    this.#claim = claimOf(task);
    this.#ports = ports;
  }

  /** Set by the operation that ends the claim. */
  get settlement(): Settlement | undefined {
    return this.#settlement;
  }

  /** Waits for the operation in flight. */
  idle(): Promise<unknown> {
    return this.#underWay;
  }

  /**
   * Sends one operation of the claim at a time, while the session is trusted, until the outcome is known.
   * @throws LeaseLostError when the claim is already settled, or no longer ours
   */
  verb(
    settlement: Settlement | undefined,
    send: (stamp: Stamp, limits: WriteLimits) => Promise<boolean>,
    name?: string,
  ): Promise<void> {
    const { session, runtime } = this.#ports;
    const verb = this.#underWay.then(async () => {
      const key = describeTask(this.#claim);
      if (this.#settlement !== undefined)
        throw new LeaseLostError(key, 'released', `this attempt is settled (${this.#settlement})`);
      session.ensureTrusted();
      const attempt = (): Promise<boolean> => send(stampOf(runtime), limitsWithinTrust(session));
      const span = spanOfEnd(this.#task, this.#ports, settlement, name);
      if (await (span === undefined ? attempt() : sendWithin(span, runtime.clock, attempt, (isApplied) => isApplied))) {
        this.#settlement = settlement;
        return;
      }
      this.#settlement = 'lost';
      const lost = new LeaseLostError(
        key,
        'superseded',
        `counter ${this.#claim.leaseCounter} is no longer the current one`,
      );
      this.#ports.onLost(lost);
      throw lost;
    });
    this.#underWay = verb.catch(() => undefined);
    return verb;
  }

  /**
   * Sends the settling write until its outcome is known, the session is no longer trusted, or the worker must stop.
   * At most one of these requests is applied, because the first takes the task out of `running`.
   * If its response is lost, the next request is refused, and the row that it returns shows how the claim ended.
   */
  async finish(
    settlement: Settlement,
    send: (stamp: Stamp, limits: WriteLimits) => Promise<Settled>,
  ): Promise<Settlement> {
    for (let requests = 1; ; requests++) {
      try {
        const settled = await this.#sendEnd(settlement, send);
        if (requests > 1) this.#ports.log.info('task outcome resolved', { ...namesOf(this.#claim), settled, requests });
        return settled;
      } catch (error) {
        if (error instanceof LeaseLostError) return 'lost';
        if (!(error instanceof StoreUnavailableError)) throw error;
        this.#ports.log.warn('task outcome unknown', { ...namesOf(this.#claim), settlement, error: error.message });
        await this.#pauseBetweenEnds();
        if (this.#ports.handBack.aborted) return 'unsettled';
      }
    }
  }

  /** Sends one request, and returns the settlement that its outcome shows. */
  async #sendEnd(
    settlement: Settlement,
    send: (stamp: Stamp, limits: WriteLimits) => Promise<Settled>,
  ): Promise<Settlement> {
    let cancelled: ReadyTask | undefined;
    let earlier: Settlement | undefined;
    await this.verb(settlement, async (stamp, limits) => {
      const outcome = await send(stamp, limits);
      if (outcome.kind === 'applied' && outcome.isFollowed === true) this.#ports.onFollowed();
      logMiscount(this.#ports.log, outcome);
      if (outcome.kind === 'applied' && outcome.row?.state === 'ready') cancelled = outcome.row;
      earlier = outcome.kind === 'refused' ? settlementOf(this.#claim, outcome.current) : undefined;
      return outcome.kind === 'applied' || earlier !== undefined;
    });
    if (earlier !== undefined) return earlier;
    return cancelled?.cancellation === undefined
      ? settlement
      : this.#cancelAfterwards(cancelled, cancelled.cancellation, settlement);
  }

  /**
   * The store was already tried for a session's whole trust window. The pause is short, so that the task ends soon after the row recovers.
   */
  #pauseBetweenEnds(): Promise<void> {
    const { session, runtime, handBack } = this.#ports;
    const over = AbortSignal.any([session.signal, handBack]);
    return runtime.clock.sleep(RESEND_MS * (0.5 + 0.5 * runtime.random.next()), over);
  }

  /**
   * Cancels a task whose cancellation was requested while this attempt ended. Otherwise the next attempt would only start to be cancelled.
   */
  async #cancelAfterwards(task: ReadyTask, cancellation: Cancellation, settlement: Settlement): Promise<Settlement> {
    const { tasks, runtime } = this.#ports;
    try {
      const outcome = await tasks.cancel(task, cancellation, stampOf(runtime));
      return outcome.kind === 'applied' ? 'cancelled' : settlement;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) && !isDenied(error)) throw error;
      // The end is already written, and the next claim will cancel the task.
      return settlement;
    }
  }
}

/** Its child has ended anyway. */
export function logMiscount(log: TaskLog, outcome: Settled | CommitOutcome): void {
  const batch = outcome.kind === 'applied' ? outcome.miscounted : undefined;
  if (batch !== undefined) log.error('batch miscounted', { error: describeMiscount(batch) });
}

/** The fields of a claim in a log line. */
export function namesOf({ id: task, leaseCounter, session }: Claim): Readonly<Record<string, string | number>> {
  return { task, leaseCounter, session };
}

/**
 * Best-effort writes next to a task's own row,
 * limited to the grace period of task code; a failure is only logged.
 */

/** Maximum length, so that it fits into its row. */
const STACK_LIMIT_CHARACTERS = 2_000;

interface SideWritePorts extends PayloadPorts {
  readonly session: SessionHolder;
  readonly runtime: Runtime;
  readonly log: TaskLog;
  /** How long task code may take to stop. */
  readonly graceMs: number;
}

export class SideWrites {
  readonly #task: RunningTask;
  readonly #ports: SideWritePorts;
  /** Aborts when the run is over. */
  readonly #finished: AbortSignal;

  constructor(task: RunningTask, ports: SideWritePorts, finished: AbortSignal) {
    this.#task = task;
    this.#ports = ports;
    this.#finished = finished;
  }

  /** Waits for the grace period; less if the session is lost or the run is over. */
  grace(): Promise<void> {
    const { runtime, session, graceMs } = this.#ports;
    return runtime.clock.sleep(graceMs, AbortSignal.any([session.signal, this.#finished]));
  }

  /** Removes the payload of a done task. If that fails, TTL deletes it. */
  async dropPayload(): Promise<void> {
    if (this.#task.payload === undefined) return;
    await this.#try('payload not removed', (signal) => dropPayload(this.#task, this.#ports, signal));
  }

  /** Stores the stack of a failed attempt. The error itself is in the task's row and in the log. */
  async keepStack(thrown: Thrown): Promise<void> {
    const stack = stackOf(thrown, STACK_LIMIT_CHARACTERS);
    if (stack === undefined) return;
    const { tasks, runtime } = this.#ports;
    const claim = claimOf(this.#task);
    await this.#try('stack not kept', (signal) => tasks.keepFailure(claim, stack, stampOf(runtime), { signal }));
  }

  async #try(failed: string, send: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const over = new AbortController();
    void this.grace().then(() => over.abort());
    try {
      await Promise.race([send(over.signal), rejectedBy(over.signal)]);
    } catch (error) {
      this.#ports.log.warn(failed, { task: this.#task.id, error: messageOf(error) });
    }
  }
}

/** The claim behind a task's context, for durable tasks, which write more than the context's verbs do. */

/**
 * Sends one operation of the claim at a time, while the session is trusted, until the outcome is known.
 * An operation with a settlement is the last one.
 */
export type SendVerb = (
  settlement: Settlement | undefined,
  send: (stamp: Stamp, limits: WriteLimits) => Promise<boolean>,
  /** Name of its span. Default: derived from the settlement. */
  name?: string,
) => Promise<void>;

export interface ClaimHolder {
  readonly task: RunningTask;
  readonly tasks: TaskStore;
  readonly runtime: Runtime;
  readonly payloads?: PayloadStore | undefined;
  readonly log: TaskLog;
  readonly trace?: AttemptTrace | undefined;
  readonly verb: SendVerb;
  /** Called when an operation of this claim has added tasks to the queue. */
  readonly onFollowers: (followers: readonly NewTask[]) => void;
  /** Called when the operation that ended the claim has started its follower. */
  readonly onFollowed: () => void;
  /** Called when the task waits until this time. */
  readonly onSuspended: (readyAt: number) => void;
  /** Called for a damaged row of the task. */
  readonly onDamaged: (damage: CorruptItemError) => void;
  /** Called when the attempt has saved new progress. */
  readonly onProgress: () => void;
  /** On a clock of tests, for one invocation. Absent: real time passes. */
  readonly skipTime?: (() => SkippedTime) | undefined;
}

/** Times of an operation, in the SDK's words. */
export interface Timed {
  readonly StepDetails?: { readonly NextAttemptTimestamp?: Date | string | undefined } | undefined;
  readonly WaitDetails?: { readonly ScheduledEndTimestamp?: Date | string | undefined } | undefined;
}

/** Skips the waits of an invocation of a durable task. */
export interface SkippedTime {
  /** No time passes during this work. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Notes a poll. @returns whether time has passed until the next operation is due */
  polled(msToWake: number): Promise<boolean>;
  /** The operation as the SDK gets it, with times of the real clock. */
  shown<Operation extends Timed>(operation: Operation, now: number): Operation;
}

const HOLDER = Symbol('leasehold.holder');

export function withHolder(context: TaskContext, holder: ClaimHolder): TaskContext {
  return Object.assign(context, { [HOLDER]: holder });
}

/** @param context as task code gets it; middleware may have copied it */
export function holderOf(context: TaskContext): ClaimHolder {
  return (context as TaskContext & { readonly [HOLDER]: ClaimHolder })[HOLDER];
}
