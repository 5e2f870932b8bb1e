/**
 * `Lock` is a held lock: its signal, value and release.
 *
 * Failure by failure:
 *   - The session is lost: the lock is lost at once, by the clocks, and nothing more is sent for it.
 *   - An operator force-releases it: the session's next heartbeat reports it, and the signal aborts. The lock-delay covers that time.
 *   - An update is refused: another session has the key; the signal aborts.
 *   - The response to a release is lost: `release` throws, and may be called again.
 *     Otherwise a heartbeat of the session frees the key, or the session's end does.
 * Operations on a lock are serialized. No operation starts after the release.
 *
 * A lock belongs to the caller who acquired it. Another caller of the same session waits for its release, and gets its own tenure.
 */
import { LeaseLostError } from '../../core/errors.ts';
import { formatSequencer } from '../../core/lease/sequencer.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { validOptions } from '../../core/validate/options.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { truthfulSignal } from '../../session/truthful-signal.ts';
import { lockLimitsOf } from './lock-contender.ts';
import type { Content, HeldLock, Holder } from './lock-record.ts';
import { describeLock, revocationOf, validContent, validValue } from './lock-record.ts';
import { holderOf } from './lock-verdict.ts';
import type { HolderLockStore, TransactionAction } from './lock-store.ts';

export interface ContentOptions {
  /** Text of up to 64 KB. Without it, the stored value stays. */
  readonly value?: string | undefined;
}

export interface LockOptions extends ContentOptions {
  /**
   * Behavior if this session already holds the key. False (default): it is held by another caller of this session, and this one waits
   * or is refused. True: this call shares the session's lock and token, and replaces its value if one is given; the first
   * release frees the key for all who share it.
   */
  readonly reentrant?: boolean | undefined;
  /**
   * Whether listings include the key. False saves one write unit for a new key, and leaves no entry for 30 days after the release.
   * Use it for keys that are used once, such as one key per order. `get`, `verify` and a force-release still find the key.
   * Default: true.
   */
  readonly listed?: boolean | undefined;
}

export const CONTENT_OPTIONS = ['value'] as const;

interface LockHolderPorts {
  readonly locks: HolderLockStore;
  readonly session: SessionHolder;
  readonly runtime: Runtime;
  /** Part of the sequencer. */
  readonly table: string;
  /** Called when the lock is no longer held, for any reason. `idle` resolves when no operation is in flight. */
  onEnded(lock: Lock, idle: Promise<void>): void;
  /** Called when the response to a release was lost: the row may still name the session. */
  onUndecided(lock: Lock): void;
  /** Called when the row is free and still has this lock's counter. */
  onReleased(lock: Lock): void;
}

/** The operations of a held lock that only its session uses. */
export interface LockKeeper {
  readonly lock: Lock;
  /**
   * Acquires the lock again for the same session: the counter stays, and the value is replaced if one is given.
   * @throws ConfigurationError
   * @throws LeaseLostError if the lock is no longer held: nothing more is written, but an unanswered attempt may have been applied
   */
  confirm(content: Content | undefined): Promise<void>;
  /** Releases the key and deletes its entry, as the behavior `delete` does at the session's end. */
  drop(): Promise<void>;
  /** Resolves when no operation is in flight. */
  idle(): Promise<void>;
}

/** A key, held by a session until it is released or lost. */
export class Lock implements AsyncDisposable {
  readonly key: string;
  /** Larger than the token of every earlier tenure of this key. Pass it to your own stores if they can compare it. */
  readonly fencingToken: number;
  /**
   * Aborts with a `LeaseLostError` when the lock is no longer held: lost, revoked or released. Its `aborted` is computed on each read.
   */
  readonly signal: AbortSignal;

  readonly #ports: LockHolderPorts;
  readonly #ended = new AbortController();
  readonly #unlink: () => void;
  #record: HeldLock;
  /** The operation in flight; the next one waits for it. */
  #underWay: Promise<unknown> = Promise.resolve();
  #releasing: Promise<boolean> | undefined;
  #isReleaseUnanswered = false;
  /** Why it is no longer held. */
  #loss: unknown;

  private constructor(record: HeldLock, ports: LockHolderPorts) {
    const { session } = ports;
    this.key = record.key;
    this.fencingToken = record.leaseCounter;
    this.#record = record;
    this.#ports = ports;
    const noticeLoss = (): void => this.#noticeLoss();
    this.signal = truthfulSignal(this.#ended.signal, noticeLoss);
    session.signal.addEventListener('abort', noticeLoss, { once: true });
    const stopListening = session.onRevoked(revocationOf(record), () => {
      this.#lose("an operator force-released it ('leasehold locks show' has the name and the reason)");
    });
    this.#unlink = (): void => {
      session.signal.removeEventListener('abort', noticeLoss);
      stopListening();
    };
    noticeLoss();
  }

  static hold(record: HeldLock, ports: LockHolderPorts): LockKeeper {
    const lock = new Lock(record, ports);
    return {
      lock,
      confirm: (content) => lock.#confirm(content),
      drop: () => lock.#drop(),
      idle: () => lock.#idle(),
    };
  }

  /** The fencing token under the name that it has in the row. */
  get leaseCounter(): number {
    return this.fencingToken;
  }

  /** Opaque string that identifies this tenure. Another process passes it to `verify` to check whether the tenure is still current. */
  get sequencer(): string {
    return formatSequencer({ table: this.#ports.table, kind: 'lock', ...this.#record });
  }

  /** The holder's description for refused contenders. */
  get holder(): Holder {
    const { session } = this.#ports;
    return holderOf(this.#record, session.record, expiryForOthers(session));
  }

  /** The value that this holder last read or wrote. */
  get value(): string | undefined {
    return this.#record.entry?.value;
  }

  get modifyIndex(): number {
    return this.#record.modifyIndex;
  }

  /** @throws LeaseLostError when the lock can no longer be trusted */
  ensureTrusted(): void {
    this.signal.throwIfAborted();
  }

  /** Grows with every call: orders the writes of this tenure, see `Fence`. */
  nextSequence(): number {
    return this.#ports.session.nextSequence();
  }

  /**
   * Replaces the value.
   * @throws LeaseLostError if the lock is no longer held: nothing more is written, but an unanswered attempt may have been applied
   */
  async update(value: string): Promise<void> {
    await this.#confirm(validValue(this.key, value));
  }

  async #confirm(content: Content | undefined): Promise<void> {
    await this.#verb(async () => {
      for (;;) {
        this.ensureTrusted();
        const { locks, runtime, session } = this.#ports;
        const outcome = await locks.update(this.#record, content, stampOf(runtime), lockLimitsOf(session));
        if (outcome.kind === 'applied') {
          this.#record = outcome.row;
          return;
        }
        const { current } = outcome;
        if (current?.state !== 'held' || !this.#isThisTenure(current))
          throw this.#lose('another session has it, or an operator released it by force');
        // We still hold the lock: an earlier update was applied although its response was lost, or another caller put a value.
        this.#record = current;
      }
    });
  }

  /**
   * Releases the key, which is free at once, without lock-delay. A repeated call changes nothing.
   * @returns false when the lock was already lost
   * @throws StoreUnavailableError when the store did not respond. The lock counts as released here, and the call may be repeated
   */
  release(options: ContentOptions = {}): Promise<boolean> {
    validOptions(`the options of releasing ${describeLock(this.key)}`, options, CONTENT_OPTIONS);
    const content = validContent(this.key, options);
    this.#releasing ??= this.#verb(async () => {
      this.#noticeLoss();
      if (this.#loss !== undefined && !this.#isReleaseUnanswered) return false;
      this.#end(new LeaseLostError(describeLock(this.key), 'released', 'it was released by its holder'));
      const mayBeReleased = this.#isReleaseUnanswered;
      this.#isReleaseUnanswered = true;
      const isReleased = (await this.#release(content)) || mayBeReleased;
      this.#isReleaseUnanswered = false;
      return isReleased;
    }).catch((error: unknown) => {
      this.#releasing = undefined;
      if (error instanceof LeaseLostError) return false;
      this.#ports.onUndecided(this);
      throw error;
    });
    return this.#releasing;
  }

  async #idle(): Promise<void> {
    await this.#underWay;
  }

  async #drop(): Promise<void> {
    await this.#verb(async () => {
      this.#noticeLoss();
      if (this.#loss !== undefined) return;
      this.#end(new LeaseLostError(describeLock(this.key), 'released', 'it was released by its holder'));
      const { locks, runtime } = this.#ports;
      await locks.settle(this.#record, { behaviour: 'delete', notBefore: 0 }, true, stampOf(runtime));
      this.#ports.onReleased(this);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /**
   * Returns a ConditionCheck for your own transaction in the same account and region. The transaction succeeds only while this tenure is
   * current. Stronger than any signal, because the store itself decides.
   */
  condition(): TransactionAction {
    return this.#ports.locks.condition(this.#record);
  }

  async #release(content: Content | undefined): Promise<boolean> {
    const { locks, runtime, session } = this.#ports;
    for (;;) {
      const sweepable = content === undefined && this.#record.entry?.value === undefined;
      const outcome = await locks.release(
        this.#record,
        { content, sweepable },
        stampOf(runtime),
        lockLimitsOf(session),
      );
      if (outcome.kind === 'applied') {
        this.#ports.onReleased(this);
        return true;
      }
      const { current, earlierAttempt } = outcome;
      // The lock is no longer ours. If an attempt had no response, that attempt may have released it.
      if (current?.state !== 'held' || !this.#isThisTenure(current)) return earlierAttempt === 'unknown';
      this.#record = current;
    }
  }

  #isThisTenure(current: HeldLock): boolean {
    return current.session === this.#record.session && current.leaseCounter === this.#record.leaseCounter;
  }

  #verb<T>(send: () => Promise<T>): Promise<T> {
    const verb = this.#underWay.then(send);
    this.#underWay = verb.catch(() => undefined);
    return verb;
  }

  /** The lock was lost with its session, or the session was ended. */
  #noticeLoss(): void {
    if (this.#loss !== undefined) return;
    try {
      this.#ports.session.ensureTrusted();
    } catch (error) {
      this.#end(error);
    }
  }

  #lose(detail: string): LeaseLostError {
    const error = new LeaseLostError(describeLock(this.key), 'superseded', detail);
    this.#end(error);
    return error;
  }

  #end(reason: unknown): void {
    if (this.#loss !== undefined) return;
    this.#loss = reason;
    this.#unlink();
    this.#ended.abort(reason);
    this.#ports.onEnded(this, this.#idle());
  }
}

/** When the session expires for other processes, unless it is renewed. */
function expiryForOthers({ record, timing }: SessionHolder): number | null {
  return record.expiresAt === null ? null : record.expiresAt + timing.maxClockSkewMs;
}
