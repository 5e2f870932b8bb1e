/**
 * `SessionHolder` keeps a session alive: it creates and renews it, computes how long it can be trusted, and ends it.
 *
 * Failure by failure:
 *   - A renewal is throttled or gets no response: trust does not grow. Later heartbeats retry until the window closes.
 *   - A renewal is refused: the session is lost at once, even if the window is still open.
 *   - No heartbeat runs (frozen, starved): `remainingTrustMs` runs out by the clocks, and it is checked before every
 *     write. `event-loop-lag.ts` distinguishes a late heartbeat from a store that did not respond.
 *   - The window closes: the signal aborts with a `LeaseLostError`, and the session is never renewed again.
 *   - An operator revokes one lock, permit or task: the next heartbeat reports it, and the session continues.
 *   - The session has no TTL: it cannot expire. Heartbeats read the row instead, to see what other processes did to it.
 *   - A renewal that removes revocations from the row gets no response: they are not missed, because a renewal removes
 *     only revocations that an earlier response reported.
 *   - An acquire or a release gets no response: `undecided-writes.ts` resolves it during the next heartbeats.
 *   - A hook of `SessionEvents` throws: the session continues.
 *   - `end` is called during a heartbeat: it waits for the heartbeat, so that a late renewal cannot race the end.
 */
import { LeaseLostError } from '../core/errors.ts';
import { stampOf } from '../core/lease/write.ts';
import type { TrustWindow } from '../core/lease/trust.ts';
import { momentOf, remainingTrustMs } from '../core/lease/trust.ts';
import type { SessionTiming } from '../core/lease/timing.ts';
import type { Clock } from '../core/runtime/clock.ts';
import type { Runtime } from '../core/runtime/runtime.ts';
import { notifyObserver } from '../core/runtime/notify-observer.ts';
import { EventLoopLag } from './event-loop-lag.ts';
import type { OpeningPorts, SessionOptions } from './open.ts';
import { openSession } from './open.ts';
import type { LiveSession, SessionRecord } from './session-record.ts';
import type { Settle } from './undecided-writes.ts';
import { UndecidedWrites } from './undecided-writes.ts';
import type { HolderSessionStore } from './session-store.ts';
import { truthfulSignal } from './truthful-signal.ts';

/** Longest pause before an unresolved write is retried, even if heartbeats are less frequent. */
const SETTLE_EVERY_MS = 10_000;
/** Number of revocations to remember. One can arrive before its listener only while an acquire is in flight. */
const MAX_PENDING_REVOCATIONS = 1_000;

/** Observer hooks of a session. Correctness never depends on them. */
export interface SessionEvents {
  onRenewed?(session: LiveSession): void;
  /** Also called if another request of a heartbeat fails, or the request that ends the session. */
  onRenewalFailed?(error: unknown): void;
  /** A heartbeat was late: the event loop was blocked, or the process stopped. `describeBlock` formats the delay. */
  onBlocked?(lateMs: number): void;
  /** Not called for an orderly end. */
  onLost?(error: LeaseLostError): void;
}

/** A session that this process keeps alive, and its trust window. Users hold it as a `Session`. */
export class SessionHolder implements AsyncDisposable {
  readonly id: string;
  readonly timing: SessionTiming;
  /** Aborts with a `LeaseLostError` if the session is lost or ended (`released`). `aborted` checks the clocks. */
  readonly signal: AbortSignal;

  readonly #store: HolderSessionStore;
  readonly #runtime: Runtime;
  readonly #events: SessionEvents;
  readonly #lost = new AbortController();
  readonly #stopped = new AbortController();
  #record: LiveSession;
  #trust: TrustWindow;
  #loss: LeaseLostError | undefined;
  /** Nonces of renewals without a response: the row may contain one of them. */
  readonly #unanswered = new Set<string>();
  readonly #revocationListeners = new Map<string, () => void>();
  /** The latest revocations, kept after they leave the row because one may arrive before its listener. */
  readonly #reported = new Set<string>();
  readonly #undecidedWrites: UndecidedWrites;
  readonly #eventLoopLag: EventLoopLag;
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
    this.#eventLoopLag = new EventLoopLag(ports.runtime.clock, options.timing.heartbeatMs);
    this.#undecidedWrites = new UndecidedWrites({
      pause: () => this.#pause(Math.min(this.timing.heartbeatMs, SETTLE_EVERY_MS)),
      isOver: () => this.#stopped.signal.aborted,
      onFailed: (error) => this.#tell((events) => events.onRenewalFailed?.(error)),
    });
    this.signal = truthfulSignal(this.#lost.signal, () => this.#noticeExpiry());
  }

  /**
   * Creates a session and starts its heartbeat.
   * @throws StoreUnavailableError if the store does not confirm the session within the trust window
   * @throws ClockSkewError if this machine's clock is provably wrong by more than half of the clock bound
   */
  static async create(
    options: SessionOptions,
    ports: OpeningPorts & { readonly events?: SessionEvents },
  ): Promise<SessionHolder> {
    const holder = new SessionHolder(await openSession(options, ports), options, { events: {}, ...ports });
    holder.#start();
    return holder;
  }

  /** The clock, for code that times work under this session. */
  get clock(): Clock {
    return this.#runtime.clock;
  }

  /** The session as last confirmed by the store. */
  get record(): LiveSession {
    return this.#record;
  }

  /** Milliseconds for which the session can still be trusted. Zero or less: lost or ended. */
  remainingTrustMs(): number {
    if (this.#loss !== undefined || this.#ending !== undefined) return 0;
    return remainingTrustMs(this.#trust, momentOf(this.#runtime.clock));
  }

  /** @throws LeaseLostError if the session can no longer be trusted */
  ensureTrusted(): void {
    this.#noticeExpiry();
    if (this.#loss !== undefined) throw this.#loss;
    if (this.#ending !== undefined) throw endedByHolder(this.id);
  }

  /** The longest delay of a heartbeat since the last call. Negative: no heartbeat was due. */
  takeLateMs(): number {
    return this.#eventLoopLag.take();
  }

  /** For how long this process stood still, or was busy, when the last heartbeat was due; undefined if it was in time. */
  standstillMs(): number | undefined {
    return this.#eventLoopLag.standstillMs();
  }

  /** Renews now, or joins the renewal in flight. @returns `remainingTrustMs()` afterwards @throws LeaseLostError */
  async renew(): Promise<number> {
    this.ensureTrusted();
    await this.#renewOnce(this.timing.ttlMs);
    this.ensureTrusted();
    return this.remainingTrustMs();
  }

  /**
   * Stops the heartbeat and ends the session, which frees all it holds. Never throws: the TTL ends it otherwise.
   * @param options with `holdsNothing` the TTL ends it anyway, which saves the write, unless one of its writes is undecided
   */
  end({ holdsNothing = false }: { readonly holdsNothing?: boolean } = {}): Promise<void> {
    if (this.#ending === undefined) {
      this.#ending = this.#end(holdsNothing);
      // Also ends everything it holds, and all waits on its behalf. This is not a loss, so `onLost` is not called.
      this.#lost.abort(endedByHolder(this.id));
    }
    return this.#ending;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  /**
   * Calls `listener` when an operator has revoked something that this session holds. The next renewal reports it.
   * @param revocation the text that the operator's write adds to the row
   * @returns a function that removes the listener
   */
  onRevoked(revocation: string, listener: () => void): () => void {
    this.#revocationListeners.set(revocation, listener);
    // A heartbeat may report the revocation before the response to the revoked write arrives.
    if (this.#reported.has(revocation))
      queueMicrotask(() => {
        this.#revocationListeners.get(revocation)?.();
      });
    return () => {
      this.#revocationListeners.delete(revocation);
    };
  }

  /**
   * Registers an unresolved write of this session: `settle` is called during the next heartbeats until it returns true.
   * The end of the session also resolves the write.
   */
  settleLater(what: string, settle: Settle): void {
    this.#undecidedWrites.add(what, settle);
  }

  isUndecided(what: string): boolean {
    return this.#undecidedWrites.has(what);
  }

  /** Returns a number that grows with every call. It orders the writes of this session under one lease counter. */
  nextSequence(): number {
    return ++this.#sequence;
  }

  /** Declares the session lost, because one of its writes was refused for that reason. */
  markLost(error: LeaseLostError): void {
    if (this.#loss !== undefined) return;
    this.#loss = error;
    this.#lost.abort(error);
    this.#stopped.abort();
    this.#tell((events) => events.onLost?.(error));
  }

  #start(): void {
    const { ttlMs } = this.timing;
    this.#loops = ttlMs === null ? this.#read() : Promise.all([this.#heartbeat(ttlMs), this.#watch()]);
  }

  /** The heartbeat of a session without a TTL: reads the row, for one read unit, instead of renewing it. */
  async #read(): Promise<void> {
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
        if (current.revoked.length > 0) await this.#renewOnce(null);
      } catch (error) {
        // A failed read does not mean that the session ended.
        this.#tell((events) => events.onRenewalFailed?.(error));
      }
    }
  }

  /** The only place that changes the record: the next renewal removes exactly the revocations reported here. */
  #learnFrom(current: LiveSession): void {
    this.#record = current;
    for (const revocation of current.revoked) this.#reportRevocation(revocation);
  }

  #reportRevocation(revocation: string): void {
    this.#revocationListeners.get(revocation)?.();
    this.#reported.add(revocation);
    for (const oldest of this.#reported) {
      if (this.#reported.size <= MAX_PENDING_REVOCATIONS) break;
      this.#reported.delete(oldest);
    }
  }

  /** Jitter of a tenth, so that workers that start together do not send their heartbeats together. */
  #jittered(ms: number): number {
    return ms * (0.9 + 0.1 * this.#runtime.random.next());
  }

  #pause(ms: number): Promise<void> {
    return this.#runtime.clock.sleep(this.#jittered(ms), this.#stopped.signal);
  }

  async #heartbeat(ttlMs: number): Promise<void> {
    let waitMs = this.timing.heartbeatMs;
    for (;;) {
      await this.#eventLoopLag.sleep(this.#jittered(waitMs), this.#stopped.signal);
      if (this.#stopped.signal.aborted) return;
      this.#noticeBlock();
      // Another caller has requested a renewal in the meantime.
      waitMs = this.timing.heartbeatMs - (this.#runtime.clock.monotonic() - this.#trust.opened.monotonicMs);
      if (waitMs > this.timing.heartbeatMs / 8) continue;
      const renewed = await this.#renewOnce(ttlMs);
      // Retry a failed renewal sooner, because the trust window is running out.
      waitMs = renewed ? this.timing.heartbeatMs : this.timing.heartbeatMs / 4;
    }
  }

  /** Concurrent renewals would refuse each other, because each is conditional on the previous nonce. */
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
      const outcome = await this.#store.renew(
        {
          id: this.id,
          ttlMs,
          lastNonce: this.#record.nonce,
          knownRevocations: this.#record.revoked.length,
          now: opened.wallMs,
          nonce,
        },
        {
          ensureTrusted: () => this.ensureTrusted(),
          budgetMs: Math.max(1, Math.min(remainingTrustMs(this.#trust, opened), this.timing.heartbeatMs)),
        },
      );
      if (outcome.kind === 'refused') return await this.#afterRefusal(ttlMs, outcome.current);
      this.#unanswered.clear();
      this.#eventLoopLag.forget();
      this.#trust = { opened, durationMs: this.#trust.durationMs };
      this.#learnFrom(outcome.row);
      this.#tell((events) => events.onRenewed?.(outcome.row));
      return true;
    } catch (error) {
      // Not confirmed, so trust does not grow. The clocks decide when it ends.
      this.#unanswered.add(nonce);
      this.#tell((events) => events.onRenewalFailed?.(error));
      return false;
    }
  }

  /** A renewal refused by our own unanswered renewal does not lose the session: that one was applied, so follow it. */
  async #afterRefusal(ttlMs: number | null, current: SessionRecord | undefined): Promise<boolean> {
    if (current?.status === 'live' && this.#unanswered.has(current.nonce)) {
      this.#unanswered.clear();
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
    // Live and ours, so the expiry refused it: an unanswered renewal was sent while the clock was behind.
    if (current.nonce === this.#record.nonce)
      return new LeaseLostError(
        key,
        'expired',
        `the clock jumped from before ${String(current.expiresAt)} to after it`,
      );
    return new LeaseLostError(key, 'superseded', 'another process renewed it');
  }

  #tell(say: (events: SessionEvents) => void): void {
    notifyObserver(this.#events, say);
  }

  /** Sleeps until the trust window ends, again after each renewal has moved it, and then aborts the signal. */
  async #watch(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      this.#noticeExpiry();
      const restMs = remainingTrustMs(this.#trust, momentOf(this.#runtime.clock));
      await this.#runtime.clock.sleep(Math.max(1, restMs), this.#stopped.signal);
    }
  }

  #noticeExpiry(): void {
    if (this.#ending !== undefined) return;
    if (remainingTrustMs(this.#trust, momentOf(this.#runtime.clock)) > 0) return;
    this.#noticeBlock();
    const detail = `no renewal was confirmed within ${this.#trust.durationMs} ms${this.#eventLoopLag.explanation()}`;
    this.markLost(new LeaseLostError(`session ${this.id}`, 'expired', detail));
  }

  #noticeBlock(): void {
    const lateMs = this.#eventLoopLag.next();
    if (lateMs !== undefined) this.#tell((events) => events.onBlocked?.(lateMs));
  }

  async #end(holdsNothing: boolean): Promise<void> {
    this.#stopped.abort();
    await Promise.all([this.#loops, this.#renewal]);
    await this.#undecidedWrites.idle();
    if (this.#loss !== undefined || (holdsNothing && this.#undecidedWrites.areDecided)) return;
    try {
      await this.#store.invalidate({ id: this.id, reason: 'ended', ...stampOf(this.#runtime) });
    } catch (error) {
      this.#tell((events) => events.onRenewalFailed?.(error));
    }
  }
}

export function endedByHolder(session: string): LeaseLostError {
  return new LeaseLostError(`session ${session}`, 'released', 'it was ended by its holder');
}
