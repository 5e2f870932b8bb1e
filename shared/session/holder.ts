/**
 * The holder's side of a session: create, heartbeat, belief, end.
 *
 * Failure by failure:
 *   - A renewal that is not answered, or throttled: belief does not grow; the next beat tries again until the window closes.
 *   - A renewal that is refused: the session is lost at once, whatever time was left.
 *   - No beat at all (frozen, starved): `remainingTrustMs` runs out by the clocks; every write asks it before it is sent.
 *   - The window closes: the signal aborts with a `LeaseLostError`, and the session is never renewed again.
 *   - A health check that it is bound to fails: seen with the next beat; the session ends itself.
 *   - An operator takes away one thing that hangs on it: learnt from the next beat; the session goes on.
 *   - `end` while a beat is in flight: the beat is awaited first, so that a late renewal cannot race the end.
 */
import { LeaseLostError, StoreUnavailableError } from '../errors.ts';
import type { Moment, TrustWindow } from '../lease/trust.ts';
import { momentOf, remainingTrustMs } from '../lease/trust.ts';
import type { SessionTiming } from '../lease/timing.ts';
import { trustDurationMs } from '../lease/timing.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { firstFailure } from './health.ts';
import type { LiveSession, SessionBehaviour, SessionRecord } from './session.ts';
import type { SessionStore } from './store.ts';
import { truthfulSignal } from './truthful-signal.ts';

export interface SessionOptions {
  readonly timing: SessionTiming;
  readonly name: string;
  readonly node: string;
  readonly behaviour: SessionBehaviour;
  /** Checks of the node that the session is bound to. */
  readonly checks?: readonly string[] | undefined;
}

/** What a session tells those who watch it; never needed for correctness. */
export interface SessionEvents {
  onRenewed?(session: LiveSession): void;
  onRenewalFailed?(error: unknown): void;
  onLost?(error: LeaseLostError): void;
}

export class SessionHolder implements AsyncDisposable {
  readonly id: string;
  readonly timing: SessionTiming;
  /** Aborts, with a `LeaseLostError`, when the session may no longer be believed in. Its `aborted` is computed when asked. */
  readonly signal: AbortSignal;

  readonly #store: SessionStore;
  readonly #runtime: Runtime;
  readonly #events: SessionEvents;
  readonly #lost = new AbortController();
  readonly #stopped = new AbortController();
  #record: LiveSession;
  #trust: TrustWindow;
  #loss: LeaseLostError | undefined;
  /** Nonces of renewals that were never answered: one of them may be in the row. */
  #unanswered: string[] = [];
  /** Who wants to know that something was taken away from this session. */
  readonly #revocationListeners = new Map<string, () => void>();
  #sequence = 0;
  #loops: Promise<unknown> = Promise.resolve();
  #ending: Promise<void> | undefined;

  private constructor(
    record: LiveSession,
    opened: Moment,
    options: SessionOptions,
    ports: { readonly store: SessionStore; readonly runtime: Runtime; readonly events: SessionEvents },
  ) {
    this.id = record.id;
    this.timing = options.timing;
    this.#record = record;
    this.#store = ports.store;
    this.#runtime = ports.runtime;
    this.#events = ports.events;
    this.#trust = { opened, durationMs: trustDurationMs(options.timing) };
    this.signal = truthfulSignal(this.#lost.signal, () => this.#noticeExpiry());
  }

  /**
   * Creates a session and starts its heartbeat.
   * @throws StoreUnavailableError when the store did not confirm it within the trust window
   */
  static async create(
    options: SessionOptions,
    ports: { readonly store: SessionStore; readonly runtime: Runtime; readonly events?: SessionEvents },
  ): Promise<SessionHolder> {
    const { store, runtime, events = {} } = ports;
    const { timing } = options;
    const opened = momentOf(runtime.clock);
    const trust: TrustWindow = { opened, durationMs: trustDurationMs(timing) };
    const outcome = await store.create(
      {
        id: runtime.ids.unique(),
        name: options.name,
        node: options.node,
        behaviour: options.behaviour,
        checks: options.checks,
        ttlMs: timing.ttlMs,
        lockDelayMs: timing.lockDelayMs,
        now: opened.wallMs,
        nonce: runtime.ids.unique(),
      },
      { budgetMs: timing.ttlMs ?? undefined },
    );
    if (outcome.kind === 'refused' || remainingTrustMs(trust, momentOf(runtime.clock)) <= 0)
      throw new StoreUnavailableError('creating a session took longer than its own TTL; try again', {
        applied: 'unknown',
      });
    const holder = new SessionHolder(outcome.row, opened, options, { store, runtime, events });
    holder.#start();
    return holder;
  }

  /** For what is timed beside it. */
  get clock(): Clock {
    return this.#runtime.clock;
  }

  /** The session as last confirmed by the store. */
  get record(): LiveSession {
    return this.#record;
  }

  /** Milliseconds for which the holder may still believe; zero or less: lost. */
  remainingTrustMs(): number {
    if (this.#loss !== undefined || this.#ending !== undefined) return 0;
    return remainingTrustMs(this.#trust, momentOf(this.#runtime.clock));
  }

  /** @throws LeaseLostError when the session may no longer be believed in */
  ensureBelief(): void {
    this.#noticeExpiry();
    if (this.#loss !== undefined) throw this.#loss;
    if (this.#ending !== undefined)
      throw new LeaseLostError(`session ${this.id}`, 'released', 'it was ended by its holder');
  }

  /** Stops the heartbeat and ends the session, so that whatever still hangs on it is free at once. Never throws: a TTL ends what this cannot. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  /**
   * Learns, with the next renewal, that an operator has taken away something that hangs on this session.
   * @param revocation as the operator's write spells it
   * @returns what stops listening
   */
  onRevoked(revocation: string, listener: () => void): () => void {
    this.#revocationListeners.set(revocation, listener);
    // A heartbeat may have brought it before the answer to the very write that it takes back.
    if (this.#record.revoked.includes(revocation))
      queueMicrotask(() => {
        this.#revocationListeners.get(revocation)?.();
      });
    return () => {
      this.#revocationListeners.delete(revocation);
    };
  }

  /** Grows with every call: orders what this session writes under one lease counter. */
  nextSequence(): number {
    return ++this.#sequence;
  }

  /** Declares the session lost because a write of its own was refused for it. */
  markLost(error: LeaseLostError): void {
    if (this.#loss !== undefined) return;
    this.#loss = error;
    this.#lost.abort(error);
    this.#stopped.abort();
    this.#events.onLost?.(error);
  }

  #start(): void {
    if (this.timing.ttlMs === null) return;
    this.#loops = Promise.all([this.#heartbeat(this.timing.ttlMs), this.#watch()]);
  }

  async #heartbeat(ttlMs: number): Promise<void> {
    const { clock, random } = this.#runtime;
    let waitMs = this.timing.heartbeatMs;
    for (;;) {
      // Jitter of a tenth keeps a fleet that started together from beating together.
      await clock.sleep(waitMs * (0.9 + 0.1 * random.next()), this.#stopped.signal);
      if (this.#stopped.signal.aborted || this.#ending !== undefined) return;
      const renewed = await this.#renew(ttlMs);
      if (renewed) await this.#noticeFailedCheck();
      if (this.#loss !== undefined) return;
      // After a failed beat the next comes sooner: the window is already running down.
      waitMs = renewed ? this.timing.heartbeatMs : this.timing.heartbeatMs / 4;
    }
  }

  async #renew(ttlMs: number): Promise<boolean> {
    const { clock, ids } = this.#runtime;
    const opened = momentOf(clock);
    const nonce = ids.unique();
    try {
      this.ensureBelief();
      const outcome = await this.#store.renew(
        { id: this.id, ttlMs, lastNonce: this.#record.nonce, now: opened.wallMs, nonce },
        {
          ensureBelief: () => {
            this.ensureBelief();
          },
          budgetMs: Math.max(1, Math.min(remainingTrustMs(this.#trust, opened), this.timing.heartbeatMs)),
        },
      );
      if (outcome.kind === 'refused') return await this.#afterRefusal(ttlMs, outcome.current);
      this.#record = outcome.row;
      this.#unanswered = [];
      this.#trust = { opened, durationMs: this.#trust.durationMs };
      this.#events.onRenewed?.(outcome.row);
      this.#noticeRevocations(outcome.row);
      return true;
    } catch (error) {
      // Not confirmed, so belief does not grow; only the watch decides when it ends.
      this.#unanswered.push(nonce);
      this.#events.onRenewalFailed?.(error);
      return false;
    }
  }

  /** A renewal refused by one of our own unanswered ones is no loss: that one was applied, and the next builds on it. */
  async #afterRefusal(ttlMs: number, current: SessionRecord | undefined): Promise<boolean> {
    if (current?.status === 'live' && this.#unanswered.includes(current.nonce)) {
      this.#record = current;
      this.#unanswered = [];
      return this.#renew(ttlMs);
    }
    this.markLost(this.#lossBy(current));
    return false;
  }

  #lossBy(current: SessionRecord | undefined): LeaseLostError {
    const key = `session ${this.id}`;
    if (current === undefined) return new LeaseLostError(key, 'missing', 'its row is gone');
    if (current.status === 'invalid')
      return new LeaseLostError(key, 'invalidated', `it was ended (${current.reason}) at ${current.invalidatedAt}`);
    // Ours and live, so what refused is its expiry: an unanswered renewal was sent while the clock was behind.
    if (current.nonce === this.#record.nonce)
      return new LeaseLostError(key, 'expired', `the clock went from behind ${String(current.expiresAt)} to beyond it`);
    return new LeaseLostError(key, 'superseded', 'somebody else renewed it');
  }

  #noticeRevocations({ revoked }: LiveSession): void {
    for (const revocation of revoked) this.#revocationListeners.get(revocation)?.();
  }

  /** Whoever sees a check fail may end what is bound to it, and nobody sooner than the session itself. */
  async #noticeFailedCheck(): Promise<void> {
    const { node, checks } = this.#record;
    if (checks.length === 0) return;
    const { clock, ids } = this.#runtime;
    try {
      const found = await this.#store.getChecks(node, checks);
      const failure = firstFailure(this.#record, found, clock.now(), this.timing.maxClockSkewMs);
      if (failure === undefined) return;
      this.markLost(new LeaseLostError(`session ${this.id}`, 'invalidated', failure));
      await this.#store.invalidate({ id: this.id, reason: 'check', now: clock.now(), nonce: ids.unique() });
    } catch (error) {
      // Checks that cannot be read have not failed; the session's own TTL stands guard.
      this.#events.onRenewalFailed?.(error);
    }
  }

  /** Sleeps to the end of the window, again and again as renewals move it, and aborts the signal when it is really over. */
  async #watch(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      this.#noticeExpiry();
      const restMs = remainingTrustMs(this.#trust, momentOf(this.#runtime.clock));
      await this.#runtime.clock.sleep(Math.max(1, restMs), this.#stopped.signal);
    }
  }

  #noticeExpiry(): void {
    if (this.#loss !== undefined || this.#ending !== undefined) return;
    if (remainingTrustMs(this.#trust, momentOf(this.#runtime.clock)) > 0) return;
    const detail = `no renewal was confirmed within ${this.#trust.durationMs} ms`;
    this.markLost(new LeaseLostError(`session ${this.id}`, 'expired', detail));
  }

  async #end(): Promise<void> {
    this.#stopped.abort();
    await this.#loops;
    if (this.#loss !== undefined) return;
    const { clock, ids } = this.#runtime;
    try {
      await this.#store.invalidate({ id: this.id, reason: 'ended', now: clock.now(), nonce: ids.unique() });
    } catch (error) {
      this.#events.onRenewalFailed?.(error);
    }
  }
}
