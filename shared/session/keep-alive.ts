/**
 * The holder's side of a session: create, heartbeat, belief, end.
 *
 * Failure by failure:
 *   - A renewal that is not answered, or throttled: belief does not grow; the next beat tries again until the window closes.
 *   - A renewal that is refused: the session is lost at once, whatever time was left.
 *   - No beat at all (frozen, starved): `remainingTrustMs` runs out by the clocks; every write asks it before it is sent. That the
 *     beat itself was late is told apart from a store that did not answer (`lateness.ts`).
 *   - The window closes: the signal aborts with a `LeaseLostError`, and the session is never renewed again.
 *   - A health check that it is bound to fails: seen with the next beat; the session ends itself.
 *   - An operator takes away one thing that hangs on it: learnt from the next beat; the session goes on.
 *   - Without a TTL nothing expires: each beat reads the row instead, and learns what others did to it.
 *   - A renewal is not answered that removes from the row what was taken away: it removes only what an earlier answer had told of,
 *     so nothing is hidden by it.
 *   - An answer is lost, of an acquire or a release of something that hangs on it: settled with the coming heartbeats (`settling.ts`).
 *   - A hook of `SessionEvents` throws: it stops nothing.
 *   - `end` while a beat is in flight: the beat is awaited first, so that a late renewal cannot race the end.
 */
import { LeaseLostError } from '../core/errors.ts';
import { stampOf } from '../core/lease/stamp.ts';
import type { TrustWindow } from '../core/lease/trust.ts';
import { momentOf, remainingTrustMs } from '../core/lease/trust.ts';
import type { SessionTiming } from '../core/lease/timing.ts';
import type { Clock } from '../core/runtime/clock.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import { tellWatcher } from '../core/runtime/tell-watcher.ts';
import { firstFailure } from './health.ts';
import { Lateness } from './lateness.ts';
import type { OpeningPorts, SessionOptions } from './open.ts';
import { openSession } from './open.ts';
import type { LiveSession, SessionRecord } from './session-record.ts';
import type { Settle } from './settling.ts';
import { Settling } from './settling.ts';
import type { HolderSessionStore } from './session-store.ts';
import { truthfulSignal } from './truthful-signal.ts';

/** What is undecided is tried again this often at least, however seldom the heart beats. */
const SETTLE_EVERY_MS = 10_000;

/** A revocation comes before its listener only while the answer to an acquire is under way. */
const TOLD_LIMIT = 1_000;

/** What a session tells those who watch it; never needed for correctness. */
export interface SessionEvents {
  onRenewed?(session: LiveSession): void;
  /** Also of what else a beat does, and of the request that ends it. */
  onRenewalFailed?(error: unknown): void;
  /** A heartbeat came so many milliseconds late: the event loop was blocked, or the process stopped. `describeBlock` has the words. */
  onBlocked?(lateMs: number): void;
  /** Not of an orderly end. */
  onLost?(error: LeaseLostError): void;
}

/** A session that this process keeps alive, and how far it may be believed in. Users hold it as a `Session`. */
export class SessionHolder implements AsyncDisposable {
  readonly id: string;
  readonly timing: SessionTiming;
  /** Aborts, with a `LeaseLostError`, when the session is lost or ended (`released`). Its `aborted` is computed when asked. */
  readonly signal: AbortSignal;

  readonly #store: HolderSessionStore;
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
  /** The latest revocations, which the row lists no more: one may come before its listener. */
  readonly #told = new Set<string>();
  readonly #settling: Settling;
  readonly #lateness: Lateness;
  #sequence = 0;
  #loops: Promise<unknown> = Promise.resolve();
  #renewal: Promise<boolean> | undefined;
  #ending: Promise<void> | undefined;

  private constructor(
    { record, trust }: { readonly record: LiveSession; readonly trust: TrustWindow },
    options: SessionOptions,
    ports: { readonly store: HolderSessionStore; readonly runtime: Runtime; readonly events: SessionEvents },
  ) {
    this.id = record.id;
    this.timing = options.timing;
    this.#record = record;
    this.#store = ports.store;
    this.#runtime = ports.runtime;
    this.#events = ports.events;
    this.#trust = trust;
    this.#lateness = new Lateness(ports.runtime.clock, options.timing.heartbeatMs);
    this.#settling = new Settling({
      pause: () => this.#pause(Math.min(this.timing.heartbeatMs, SETTLE_EVERY_MS)),
      isOver: () => this.#stopped.signal.aborted,
      onFailed: (error) => this.#tell((events) => events.onRenewalFailed?.(error)),
    });
    this.signal = truthfulSignal(this.#lost.signal, () => this.#noticeExpiry());
  }

  /**
   * Creates a session and starts its heartbeat.
   * @throws StoreUnavailableError when the store did not confirm it within the trust window
   * @throws ClockSkewError when this machine's clock is proven wrong by more than half of the bound
   */
  static async create(
    options: SessionOptions,
    ports: OpeningPorts & { readonly events?: SessionEvents },
  ): Promise<SessionHolder> {
    const holder = new SessionHolder(await openSession(options, ports), options, { events: {}, ...ports });
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
    if (this.#ending !== undefined) throw this.#releasedError();
  }

  /** Renews now, or shares a renewal under way, and then judges belief. @returns as `remainingTrustMs` @throws LeaseLostError */
  async renew(): Promise<number> {
    this.ensureBelief();
    await this.#renewOnce(this.timing.ttlMs);
    this.ensureBelief();
    return this.remainingTrustMs();
  }

  /** Stops the heartbeat and ends the session, which frees what still hangs on it. Never throws: a TTL ends what this cannot. */
  end(): Promise<void> {
    if (this.#ending === undefined) {
      this.#ending = this.#end();
      // What hangs on it, and every wait on its behalf, ends with it. It is no loss, so `onLost` is not called.
      this.#lost.abort(this.#releasedError());
    }
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
    if (this.#told.has(revocation))
      queueMicrotask(() => {
        this.#revocationListeners.get(revocation)?.();
      });
    return () => {
      this.#revocationListeners.delete(revocation);
    };
  }

  /**
   * Something that hangs on this session is undecided, because an answer was lost: `settle` is called with the coming heartbeats, until it
   * says that it is decided or the session is over, which decides everything.
   */
  settleLater(what: string, settle: Settle): void {
    this.#settling.add(what, settle);
  }

  /** Whether something is still to be settled. */
  isUndecided(what: string): boolean {
    return this.#settling.has(what);
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
    this.#tell((events) => {
      events.onLost?.(error);
    });
  }

  #start(): void {
    const { ttlMs } = this.timing;
    this.#loops = ttlMs === null ? this.#look() : Promise.all([this.#heartbeat(ttlMs), this.#watch()]);
  }

  /** Without a TTL nothing is renewed, and what others did to the session is learnt by looking: one read unit each time. */
  async #look(): Promise<void> {
    for (;;) {
      await this.#pause(this.timing.heartbeatMs);
      if (this.#stopped.signal.aborted) return;
      try {
        const current = await this.#store.get(this.id);
        if (current?.status !== 'live') {
          this.markLost(this.#lossBy(current));
          return;
        }
        this.#learnFrom(current);
        await this.#noticeFailedCheck();
        if (current.revoked.length > 0) await this.#renewOnce(null);
      } catch (error) {
        // A failed read does not mean the session ended.
        this.#tell((events) => events.onRenewalFailed?.(error));
      }
    }
  }

  /** What the next renewal removes from the row is what was told here: the one place where the record changes. */
  #learnFrom(current: LiveSession): void {
    this.#record = current;
    for (const revocation of current.revoked) this.#tellRevoked(revocation);
  }

  #tellRevoked(revocation: string): void {
    const listener = this.#revocationListeners.get(revocation);
    listener?.();
    this.#told.add(revocation);
    const [oldest] = this.#told;
    if (this.#told.size > TOLD_LIMIT && oldest !== undefined) this.#told.delete(oldest);
  }

  /** Jitter of a tenth keeps a fleet that started together from beating together. */
  #jittered(ms: number): number {
    return ms * (0.9 + 0.1 * this.#runtime.random.next());
  }

  #pause(ms: number): Promise<void> {
    return this.#runtime.clock.sleep(this.#jittered(ms), this.#stopped.signal);
  }

  async #heartbeat(ttlMs: number): Promise<void> {
    let waitMs = this.timing.heartbeatMs;
    for (;;) {
      await this.#lateness.sleep(this.#jittered(waitMs), this.#stopped.signal);
      if (this.#stopped.signal.aborted || this.#ending !== undefined) return;
      this.#noticeBlock();
      const renewed = await this.#renewOnce(ttlMs);
      if (renewed) await this.#noticeFailedCheck();
      if (this.#loss !== undefined) return;
      // After a failed beat the next comes sooner: the window is already running down.
      waitMs = renewed ? this.timing.heartbeatMs : this.timing.heartbeatMs / 4;
    }
  }

  /** Concurrent renewals would invalidate each other, because each is conditional on the previous nonce. */
  #renewOnce(ttlMs: number | null): Promise<boolean> {
    this.#renewal ??= this.#renew(ttlMs).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #renew(ttlMs: number | null): Promise<boolean> {
    const { clock, ids } = this.#runtime;
    const opened = momentOf(clock);
    const nonce = ids.unique();
    try {
      this.ensureBelief();
      const outcome = await this.#store.renew(
        {
          id: this.id,
          ttlMs,
          lastNonce: this.#record.nonce,
          told: this.#record.revoked.length,
          now: opened.wallMs,
          nonce,
        },
        {
          ensureBelief: () => this.ensureBelief(),
          budgetMs: Math.max(1, Math.min(remainingTrustMs(this.#trust, opened), this.timing.heartbeatMs)),
        },
      );
      if (outcome.kind === 'refused') return await this.#afterRefusal(ttlMs, outcome.current);
      this.#unanswered = [];
      this.#lateness.forget();
      this.#trust = { opened, durationMs: this.#trust.durationMs };
      this.#learnFrom(outcome.row);
      this.#tell((events) => events.onRenewed?.(outcome.row));
      return true;
    } catch (error) {
      // Not confirmed, so belief does not grow; only the watch decides when it ends.
      this.#unanswered.push(nonce);
      this.#tell((events) => events.onRenewalFailed?.(error));
      return false;
    }
  }

  /** A renewal refused by one of our own unanswered ones is no loss: that one was applied, and the next builds on it. */
  async #afterRefusal(ttlMs: number | null, current: SessionRecord | undefined): Promise<boolean> {
    if (current?.status === 'live' && this.#unanswered.includes(current.nonce)) {
      this.#unanswered = [];
      this.#learnFrom(current);
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
    return new LeaseLostError(key, 'superseded', 'another process renewed it');
  }

  #releasedError(): LeaseLostError {
    return new LeaseLostError(`session ${this.id}`, 'released', 'it was ended by its holder');
  }

  #tell(say: (events: SessionEvents) => void): void {
    tellWatcher(this.#events, say);
  }

  /** Every reader that sees a check fail may end what is bound to it, and the session itself is the first to. */
  async #noticeFailedCheck(): Promise<void> {
    const { node, checks } = this.#record;
    if (checks.length === 0) return;
    try {
      const found = await this.#store.getChecks(node, checks);
      const failure = firstFailure(this.#record, found, this.#runtime.clock.now(), this.timing.maxClockSkewMs);
      if (failure === undefined) return;
      this.markLost(new LeaseLostError(`session ${this.id}`, 'invalidated', failure));
      await this.#store.invalidate({ id: this.id, reason: 'check', ...stampOf(this.#runtime) });
    } catch (error) {
      // Checks that cannot be read have not failed; the session's own TTL stands guard.
      this.#tell((events) => events.onRenewalFailed?.(error));
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
    this.#noticeBlock();
    const detail = `no renewal was confirmed within ${this.#trust.durationMs} ms${this.#lateness.explanation()}`;
    this.markLost(new LeaseLostError(`session ${this.id}`, 'expired', detail));
  }

  #noticeBlock(): void {
    const lateMs = this.#lateness.next();
    if (lateMs !== undefined) this.#tell((events) => events.onBlocked?.(lateMs));
  }

  async #end(): Promise<void> {
    this.#stopped.abort();
    await Promise.all([this.#loops, this.#renewal]);
    await this.#settling.idle();
    if (this.#loss !== undefined) return;
    try {
      await this.#store.invalidate({ id: this.id, reason: 'ended', ...stampOf(this.#runtime) });
    } catch (error) {
      this.#tell((events) => events.onRenewalFailed?.(error));
    }
  }
}
