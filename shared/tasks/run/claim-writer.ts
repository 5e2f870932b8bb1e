/**
 * `ClaimWriter` sends the operations of one claim, one at a time, and the ending operation until the store has decided it.
 * Otherwise the task could stay `running` for as long as its worker lives, although no worker runs its code.
 */
import { isDenied } from '../../core/denied.ts';
import { LeaseLostError, StoreUnavailableError } from '../../core/errors.ts';
import type { WriteLimits, Stamp } from '../../core/lease/write.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { limitsWithinTrust } from '../../session/limits.ts';
import type { TaskLog } from '../task/context.ts';
import { describeMiscount } from '../task/batch.ts';
import type { CommitOutcome, Settled, TaskStore } from '../task/task-store.ts';
import type { Cancellation, Claim, ReadyTask, RunningTask } from '../task/task.ts';
import { claimOf, describeTask } from '../task/task.ts';
import type { Settlement } from './settle.ts';
import { settlementOf } from './settle.ts';
import type { AttemptTrace } from './traced.ts';
import { spanOfEnd } from './traced.ts';
import { sendWithin } from '../tracing/tracing.ts';

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
