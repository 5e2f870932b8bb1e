/**
 * `Sender` is the only caller of a driver. It adds timeouts and retries, and resolves refused and unanswered writes.
 *
 * Three rules make outcomes sound:
 *   - Before each attempt, `ensureTrusted` checks that the caller may still write. A timeout aborts the attempt.
 *   - Every conditional write stores a nonce, and a refusal returns the row. If that row contains our own nonce, an
 *     earlier, unanswered attempt was applied, which is success.
 *   - If the outcome is unknown, we throw a `StoreUnavailableError` with `applied: 'unknown'`. We never guess.
 *
 * The SDK's own retries stay off, because they would sign and resend after a freeze without checking the session.
 */
import type { WriteLimits } from '../../core/lease/write.ts';
import { fullJitterMs } from '../../core/runtime/random.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { Patience } from '../../core/wait/retry-contended.ts';
import { notifyObserver } from '../../core/runtime/notify-observer.ts';
import type { CancellationReason, DynamoCalls, DynamoDriver, DynamoItem, DynamoKind } from './driver.ts';
import { DynamoFault } from './driver.ts';
import type { GrantFor } from './send-errors.ts';
import { givenUp, rejection, unavailable, unconnected } from './send-errors.ts';
import type { Statement } from './statement.ts';

export interface SendPolicy {
  /** Timeout of one attempt. DynamoDB responds in milliseconds; after a second, a response is overdue. */
  readonly attemptTimeoutMs: number;
  /** Total time for all attempts of a statement, pauses included, unless the caller sets its own budget. */
  readonly budgetMs: number;
  /** Total time for which a statement waits for connections, in addition to the budget. Default: `CONNECTION_MS`. */
  readonly connectionMs?: number;
  readonly backoff: { readonly baseMs: number; readonly capMs: number };
}

const DEFAULT_SEND_POLICY: SendPolicy = {
  attemptTimeoutMs: 1_500,
  budgetMs: 8_000,
  backoff: { baseMs: 25, capMs: 1_000 },
};

/** As long as contention: enough for a crowd of thousands, and a limit for one that grows without end. */
const CONNECTION_MS = 20_000;

/** The row after the write, or the row that refused it. */
export type WriteResult =
  | {
      readonly kind: 'applied';
      readonly item: DynamoItem | undefined;
      readonly late: boolean;
      readonly earlierAttempt: 'none' | 'unknown';
      /** Wall time in the applied attempt, if that was a retry. Unknown if `late`. */
      readonly restampedAt?: number | undefined;
    }
  | { readonly kind: 'refused'; readonly item: DynamoItem | undefined; readonly earlierAttempt: 'none' | 'unknown' };

/** `canceled`: an action other than the first, which carries the guard, was refused. */
export type TransactionResult = WriteResult | Canceled;

export interface Canceled {
  readonly kind: 'canceled';
  readonly reasons: readonly CancellationReason[];
  readonly earlierAttempt: 'none' | 'unknown';
}

/** Receives every attempt and its result: for capacity counts, metrics and histories. */
export interface SendObserver {
  onAttempt(attempt: {
    readonly statement: Statement;
    readonly output?: DynamoCalls[DynamoKind]['output'];
    readonly fault?: DynamoFault;
  }): void;
}

export interface TransactOptions {
  /**
   * Whether the transaction names what it has seen of its rows. After a conflict that is old, so the conflict is a response, and sending
   * the same again would be refused.
   */
  readonly isStaleAfterConflict?: boolean;
}

export interface SenderPorts {
  readonly driver: DynamoDriver;
  readonly runtime: Runtime;
  readonly policy?: SendPolicy;
  readonly observer?: SendObserver | undefined;
  /** Names the grant that allows a request which was refused. Absent: clients that are small. */
  readonly grantFor?: GrantFor | undefined;
  /** Throws if the caller may not use this client. */
  readonly ensureMaySend?: (() => void) | undefined;
}

export class Sender {
  readonly #driver: DynamoDriver;
  readonly #runtime: Runtime;
  readonly #policy: SendPolicy;
  readonly #connectionMs: number;
  readonly #observer: SendObserver | undefined;
  readonly #ensureMaySend: (() => void) | undefined;
  readonly #grantFor: GrantFor | undefined;
  readonly #underWay = new Set<AbortController>();
  readonly #closed = new AbortController();

  constructor(ports: SenderPorts) {
    this.#driver = ports.driver;
    this.#runtime = ports.runtime;
    this.#policy = ports.policy ?? DEFAULT_SEND_POLICY;
    this.#observer = ports.observer;
    this.#ensureMaySend = ports.ensureMaySend;
    this.#grantFor = ports.grantFor;
    this.#connectionMs = this.#policy.connectionMs ?? CONNECTION_MS;
  }

  async read<K extends 'get' | 'batchGet' | 'query'>(
    statement: Statement<K>,
    limits: WriteLimits = {},
  ): Promise<DynamoCalls[K]['output']> {
    const answer = await this.#attemptUntilAnswered(statement, limits);
    if (answer.kind === 'output') return answer.output;
    throw answer.fault;
  }

  /** For stores' own loops around a contended row. */
  get patience(): Patience {
    return this.#runtime;
  }

  /** Sends nothing more, and aborts pending requests. For a process that must end while the store is away. */
  close(): void {
    this.#closed.abort();
    for (const attempt of this.#underWay) attempt.abort();
  }

  /** Pauses as between two attempts of one request. The upper bound grows with `round`. */
  pause(round: number): Promise<void> {
    return this.#runtime.clock.sleep(fullJitterMs(this.#runtime.random, this.#policy.backoff, round));
  }

  /** Sends a conditional write that stores `nonce` in the row. */
  async write(
    statement: Statement<'put' | 'update' | 'delete'>,
    nonce: string,
    limits: WriteLimits = {},
  ): Promise<WriteResult> {
    const answer = await this.#attemptUntilAnswered(statement, limits);
    if (answer.kind === 'output') return applied(answer, answer.output.Attributes);
    return resolveRefusal(answer.fault.item, nonce, answer.unanswered);
  }

  /** Sends a transaction whose first action carries the guard and the nonce. */
  async transact(
    statement: Statement<'transactWrite'>,
    nonce: string,
    limits: WriteLimits = {},
    { isStaleAfterConflict = false }: TransactOptions = {},
  ): Promise<TransactionResult> {
    const answer = await this.#attemptUntilAnswered(statement, limits, isStaleAfterConflict ? isStopped : isRefusal);
    if (answer.kind === 'output') return applied(answer, undefined);
    const { reasons } = answer.fault;
    if (reasons[0]?.code === 'ConditionalCheckFailed') return resolveRefusal(reasons[0].item, nonce, answer.unanswered);
    return { kind: 'canceled', reasons, earlierAttempt: earlierAttempt(answer.unanswered) };
  }

  /** Sends a transaction whose actions belong to several callers. Each judges its own reason. */
  async transactTogether(
    statement: Statement<'transactWrite'>,
    limits: WriteLimits = {},
    { isStaleAfterConflict = false }: TransactOptions = {},
  ): Promise<Extract<WriteResult, { kind: 'applied' }> | Canceled> {
    const answer = await this.#attemptUntilAnswered(statement, limits, isStaleAfterConflict ? isStopped : isRefusal);
    if (answer.kind === 'output') return applied(answer, undefined);
    return { kind: 'canceled', reasons: answer.fault.reasons, earlierAttempt: earlierAttempt(answer.unanswered) };
  }

  /** Retries until DynamoDB returns an output or refuses a condition. */
  async #attemptUntilAnswered<K extends DynamoKind>(
    statement: Statement<K>,
    limits: WriteLimits,
    isFinal: (fault: DynamoFault) => boolean = isRefusal,
  ): Promise<Answer<K>> {
    const { clock, random } = this.#runtime;
    const { backoff } = this.#policy;
    let deadline = clock.monotonic() + (limits.budgetMs ?? this.#policy.budgetMs);
    let unanswered = 0;
    let waitedMs = 0;
    let restampedAt: number | undefined;
    let current = statement;
    this.#ensureMaySend?.();
    ensureNotAborted(statement, limits);
    if (this.#closed.signal.aborted) throw givenUp(statement);
    for (let attempt = 1; ; attempt++) {
      if (this.#driver.connections?.tryTake(statement.goesFirst === true) === false) {
        const leftMs = limits.budgetMs === undefined ? this.#connectionMs - waitedMs : deadline - clock.monotonic();
        const forMs = await this.#connection(statement, leftMs, limits, unanswered);
        waitedMs += forMs;
        if (limits.budgetMs === undefined) deadline += forMs;
      }
      if ((attempt > 1 || waitedMs > 0) && statement.restamped !== undefined) {
        restampedAt = clock.now();
        current = statement.restamped(restampedAt);
      }
      const answer = await this.#attempt(current, deadline, limits.signal);
      if (answer.kind === 'output') return { ...answer, restampedAt, unanswered };
      const { fault } = answer;
      if (isFinal(fault)) return { kind: 'refusal', fault, unanswered };
      if (fault.kind === 'rejected')
        throw unanswered > 0
          ? unavailable(statement, attempt, fault, true)
          : rejection(statement, fault, this.#grantFor);
      if (fault.applied === 'unknown') unanswered++;
      const over =
        limits.signal === undefined ? this.#closed.signal : AbortSignal.any([limits.signal, this.#closed.signal]);
      const ensureTimeFor = (waitMs: number): void => {
        const isOver = over.aborted || clock.monotonic() + waitMs >= deadline;
        if (isOver) throw unavailable(statement, attempt, fault, unanswered > 0);
      };
      const waitMs = fullJitterMs(random, backoff, attempt);
      ensureTimeFor(waitMs);
      await clock.sleep(waitMs, over);
      // If we were frozen during the sleep, the deadline may be long past and the row already deleted by TTL.
      ensureTimeFor(0);
      limits.ensureTrusted?.();
    }
  }

  /**
   * Waits until one of the client's connections is free.
   * @returns for how long
   * @throws StoreUnavailableError if no connection is free in time
   */
  async #connection(
    statement: Statement,
    leftMs: number,
    { signal, ensureTrusted }: WriteLimits,
    unanswered: number,
  ): Promise<number> {
    const { clock } = this.#runtime;
    const { connections } = this.#driver;
    if (connections === undefined) return 0;
    const startedAt = clock.monotonic();
    const wait = new AbortController();
    const stop = (): void => wait.abort();
    const cancelTimeout = clock.after(Math.max(1, leftMs), stop);
    signal?.addEventListener('abort', stop);
    this.#underWay.add(wait);
    const isMine = await connections.take(statement.goesFirst === true, wait.signal);
    cancelTimeout();
    this.#underWay.delete(wait);
    signal?.removeEventListener('abort', stop);
    const waitedMs = clock.monotonic() - startedAt;
    if (!isMine) throw unconnected(statement, connections, waitedMs, unanswered > 0);
    try {
      ensureTrusted?.();
    } catch (error) {
      connections.giveBack();
      throw error;
    }
    return waitedMs;
  }

  async #attempt<K extends DynamoKind>(
    statement: Statement<K>,
    deadline: number,
    signal: AbortSignal | undefined,
  ): Promise<{ kind: 'output'; output: DynamoCalls[K]['output'] } | { kind: 'fault'; fault: DynamoFault }> {
    const { clock } = this.#runtime;
    const attempt = new AbortController();
    const timeoutMs = Math.max(1, Math.min(this.#policy.attemptTimeoutMs, deadline - clock.monotonic()));
    const stop = (): void => attempt.abort();
    const cancelTimeout = clock.after(timeoutMs, stop);
    signal?.addEventListener('abort', stop);
    this.#underWay.add(attempt);
    try {
      const output = await this.#driver.attempt(statement.kind, statement.input, attempt.signal);
      this.#observe({ statement, output });
      return { kind: 'output', output };
    } catch (error) {
      if (!(error instanceof DynamoFault)) throw error;
      this.#observe({ statement, fault: error });
      return { kind: 'fault', fault: error };
    } finally {
      this.#driver.connections?.giveBack();
      cancelTimeout();
      this.#underWay.delete(attempt);
      signal?.removeEventListener('abort', stop);
    }
  }

  #observe(attempt: Parameters<SendObserver['onAttempt']>[0]): void {
    if (this.#observer !== undefined) notifyObserver(this.#observer, (observer) => observer.onAttempt(attempt));
  }
}

type Answer<K extends DynamoKind> =
  | {
      readonly kind: 'output';
      readonly output: DynamoCalls[K]['output'];
      readonly restampedAt: number | undefined;
      readonly unanswered: number;
    }
  | { readonly kind: 'refusal'; readonly fault: DynamoFault; readonly unanswered: number };

function applied(
  { restampedAt, unanswered }: Extract<Answer<DynamoKind>, { kind: 'output' }>,
  item: DynamoItem | undefined,
): Extract<WriteResult, { kind: 'applied' }> {
  return { kind: 'applied', item, late: false, restampedAt, earlierAttempt: earlierAttempt(unanswered) };
}

/** Decides what a refusal means. If the row contains our own nonce, the write was applied. */
function resolveRefusal(item: DynamoItem | undefined, nonce: string, unanswered: number): WriteResult {
  // One of the unanswered attempts was applied.
  if (item?.nonce === nonce)
    return { kind: 'applied', item, late: true, earlierAttempt: earlierAttempt(unanswered - 1) };
  return { kind: 'refused', item, earlierAttempt: earlierAttempt(unanswered) };
}

/** An unanswered attempt may still be in flight, and its condition may become true later. */
function earlierAttempt(unanswered: number): 'none' | 'unknown' {
  return unanswered > 0 ? 'unknown' : 'none';
}

/** Before the first attempt. Before later ones, `ensureTimeFor` checks the signal. */
function ensureNotAborted(statement: Statement, { ensureTrusted, signal }: WriteLimits): void {
  ensureTrusted?.();
  if (signal?.aborted === true) throw givenUp(statement);
}

/** Whether the refusal is final: a condition was false. Conflicts and throttling alone do not refuse a transaction. */
function isRefusal(fault: DynamoFault): boolean {
  return fault.kind === 'conditionFailed' || fault.reasons.some(({ code }) => !PASSING_REASONS.has(code));
}

/** Whether an action stopped the transaction, if only because another writer held one of its rows. */
function isStopped(fault: DynamoFault): boolean {
  return isRefusal(fault) || fault.reasons.some(({ code }) => code !== 'None');
}

const PASSING_REASONS = new Set(['None', 'TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded']);
