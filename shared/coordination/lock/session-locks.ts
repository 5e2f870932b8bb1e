/**
 * The locks of one session: acquiring them, and releasing them all; `several-locks.ts` adds several at once.
 *
 * A key that the session already holds is also held for the session's other callers: they queue for its release, and each gets its
 * own tenure. A caller with `reentrant` shares the session's lock:
 * the same `Lock`, the same counter, the value replaced.
 */
import { ConfigurationError, LeaseLostError, StoreUnavailableError, shown } from '../../core/errors.ts';
import { sideBySide } from '../../core/runtime/in-flight.ts';
import { validOptions } from '../../core/validate/options.ts';
import type { Blocked, WaitOptions } from '../../core/wait/wait.ts';
import { WAIT_OPTIONS, waitFor } from '../../core/wait/wait.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { endedByHolder } from '../../session/keep-alive.ts';
import type { KeyContender } from './lock-contender.ts';
import { LockContender, lockLimitsOf } from './lock-contender.ts';
import { KeyTurns } from './key-turns.ts';
import { UnresolvedKeys } from './unresolved-keys.ts';
import type { LockKeeper, LockOptions } from './lock.ts';
import { CONTENT_OPTIONS, Lock } from './lock.ts';
import type { Content, HeldLock, Refusal } from './lock-record.ts';
import { warningOfOwnWait } from './own-wait.ts';
import { LockUnavailableError, describeLock, validContent, validKey } from './lock-record.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { HolderPorts } from './lock-verdict.ts';
import { lockVerdictOf } from './lock-verdict.ts';
import type { WaiterQueue } from '../../core/wait/waiter-queue.ts';

export type LockAcquisition = { readonly kind: 'acquired'; readonly lock: Lock } | Refusal;

export interface SessionLocksPorts extends HolderPorts {
  /** Part of the sequencer. */
  readonly table: string;
  readonly turns: WaiterQueue<Refusal>;
}

export const OPTIONS = 'the options of a lock';
export const LOCK_OPTIONS = [...CONTENT_OPTIONS, 'reentrant', 'listed'] as const;
export const PATIENT_OPTIONS = [...LOCK_OPTIONS, ...WAIT_OPTIONS] as const;

/**
 * A waiter at the longest pause polls every 0.75 s on average, so it notices a release after half a second.
 * 50 of them, in as many processes, read 67 units a second together (`bench/locks/handover.ts`).
 */
export const PAUSES = { firstMs: 750, longestMs: 1_500, spreadMs: 2_000 };

/** Number of concurrent releases when a session ends. */
const RELEASES_IN_FLIGHT = 32;

/** Number of released keys whose counter is remembered, so that acquiring them again takes one request. */
const REMEMBERED_LIMIT = 1_000;

export class SessionLocks {
  readonly #session: SessionHolder;
  readonly #ports: SessionLocksPorts;
  readonly #held = new Map<string, LockKeeper>();
  /** Counters of released keys, the latest last. */
  readonly #left = new Map<string, number>();
  /** Releases in flight, by key. The next attempt must wait for them, or it would find the row still ours. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** One attempt at a time for each key. Otherwise two flows of one session could both conclude that they hold it. */
  protected readonly turns = new KeyTurns();
  #isEnding = false;
  /** Keys that the session may hold unknowingly. */
  protected readonly unresolved: UnresolvedKeys;

  constructor(session: SessionHolder, ports: SessionLocksPorts) {
    this.#session = session;
    this.#ports = ports;
    this.unresolved = new UnresolvedKeys(session.id, (key) =>
      session.settleLater(describeLock(key), () => this.#settle(key)),
    );
  }

  /** Returns the lock, or its holder and the earliest end of its tenure, without waiting. */
  async tryAcquire(key: string, options: LockOptions = {}): Promise<LockAcquisition> {
    validOptions(OPTIONS, options, LOCK_OPTIONS);
    const attempt = await this.#single(key, options).attempt();
    if (attempt.kind !== 'acquired') this.ensureDecided([key]);
    return attempt.kind === 'acquired' ? { kind: 'acquired', lock: attempt.right } : attempt;
  }

  /**
   * Waits for the key, and for an unavailable store.
   * @throws LockUnavailableError when the wait is over; it names the holder
   * @throws LeaseLostError when the session is lost; the reason of `signal`
   */
  async acquire(key: string, options: LockOptions & WaitOptions = {}): Promise<Lock> {
    validOptions(OPTIONS, options, PATIENT_OPTIONS);
    return this.wait([key], this.#single(key, options), options);
  }

  protected lockOf(key: string): Lock | undefined {
    return this.#held.get(key)?.lock;
  }

  /** The session's locks, as far as this process knows. */
  get held(): readonly Lock[] {
    return [...this.#held.values()].map(({ lock }) => lock);
  }

  /**
   * Releases everything before the session ends, and acquires nothing more. With the behavior `delete`, this also deletes the entries.
   * Never throws: if a release fails, the session's end releases the key.
   */
  async giveUpAll(): Promise<void> {
    this.#isEnding = true;
    // Not `inFlight`, because a key that cannot be released must not stop the releases of the others.
    const limit = sideBySide(RELEASES_IN_FLIGHT);
    const isDeleting = this.#session.record.behaviour === 'delete';
    const giveUp = async (held: LockKeeper): Promise<void> => {
      await (isDeleting ? held.drop() : held.lock.release());
    };
    await Promise.allSettled([...this.#held.values()].map((held) => limit(() => giveUp(held))));
  }

  protected async wait<Right>(
    keys: readonly string[],
    contender: KeyContender<Right>,
    options: LockOptions & WaitOptions,
  ): Promise<Right> {
    const { turns, runtime } = this.#ports;
    // A caller that shares its session's lock does not wait behind callers that want a separate lock.
    const kind = options.reentrant === true ? `reentrant ${this.#session.id}` : '';
    const warn = options.wait === undefined ? warningOfOwnWait(this.#ports.runtime.clock) : undefined;
    const waited = await waitFor<Right, Refusal>(
      async ({ polls }) => {
        const seen = polls === 0 ? undefined : await contender.read();
        const attempt = seen ?? (await contender.attempt());
        if (attempt.kind === 'acquired') return { kind: 'found', found: attempt.right };
        warn?.(attempt);
        return blockedBy(attempt, runtime.clock.now());
      },
      { options, pauses: PAUSES, session: this.#session, line: { turns, key: contender.key, kind } },
      runtime,
    ).catch((error: unknown) => {
      // The store is still unavailable at the deadline: the last poll does not cover everything that was sent.
      if (error instanceof StoreUnavailableError) this.ensureDecided(keys, error);
      throw error;
    });
    if (waited.kind === 'found') return waited.found;
    this.ensureDecided(keys);
    throw new LockUnavailableError(this.#seenFromHere(waited.by), waited.waitedMs);
  }

  /** @throws StoreUnavailableError when an attempt without a response may have taken one of the keys, or may still take it */
  protected ensureDecided(keys: readonly string[], cause?: unknown): void {
    const key = keys.find((wanted) => this.unresolved.has(wanted));
    if (key === undefined) return;
    throw new StoreUnavailableError(
      `${describeLock(key)}: unknown whether it was acquired, because a response was lost; this session ` +
        'gives it back with its coming heartbeats, try again then',
      { applied: 'unknown', cause },
    );
  }

  /**
   * Settles an unresolved key: releases a tenure that the session holds unknowingly, and makes a request in flight fail.
   * This needs a write: after a mere read, that request might still be applied.
   * @returns whether the key is resolved
   */
  #settle(key: string): Promise<boolean> {
    return this.turns.run([key], async () => {
      if (!this.unresolved.has(key)) return true;
      const { locks, runtime, turns } = this.#ports;
      const lock = await locks.get(key);
      this.unresolved.see(key, lock);
      if (!this.unresolved.has(key)) return true;
      if (lock?.state === 'held' && lock.session !== this.#session.id) return this.#settleAbandoned(lock);
      if (lock?.state === 'held' && this.#held.get(key)?.lock.leaseCounter === lock.leaseCounter) {
        this.unresolved.end(key);
        return true;
      }
      const late = { notBeforeAsked: this.unresolved.lastAskedAt(key) };
      const limits = lockLimitsOf(this.#session);
      const outcome = await (lock?.state === 'held'
        ? locks.disown(lock, late, stampOf(runtime), limits)
        : locks.barLate({ key, observed: lock, ...late }, stampOf(runtime), limits));
      this.unresolved.see(key, outcome.kind === 'applied' ? outcome.row : outcome.current);
      if (outcome.kind === 'applied') turns.wake(key);
      return !this.unresolved.has(key);
    });
  }

  /** A takeover from an expired session may be in flight. Once the key's new state is recorded, that takeover is refused. */
  async #settleAbandoned(lock: HeldLock): Promise<boolean> {
    const { locks, sessions, runtime } = this.#ports;
    const { maxClockSkewMs } = this.#session.timing;
    const standing = await lockVerdictOf(lock, await sessions.get(lock.session), this.#ports, maxClockSkewMs);
    if (standing.kind === 'held') return false;
    const sweepable = lock.entry?.value === undefined;
    const limits = lockLimitsOf(this.#session);
    const outcome = await locks.settle(lock, standing.disposition, sweepable, stampOf(runtime), limits);
    if (outcome.kind === 'applied') this.unresolved.see(lock.key, outcome.row);
    return !this.unresolved.has(lock.key);
  }

  /** The refusal of the first waiter in a queue may name a different session. */
  #seenFromHere(refusal: Refusal): Refusal {
    if (refusal.kind !== 'held') return refusal;
    const { key, by } = refusal;
    return by.session === this.#session.id ? { kind: 'held', key, by, isOwn: true } : { kind: 'held', key, by };
  }

  /** Describes a key that this session holds, for a caller that wants its own tenure. */
  protected refusalOfOwn(keys: readonly string[]): Refusal | undefined {
    const held = keys.map((key) => this.lockOf(key)).find((lock) => lock?.signal.aborted === false);
    return held && { kind: 'held', key: held.key, by: held.holder, isOwn: true };
  }

  #single(key: string, options: LockOptions): KeyContender<Lock> {
    const content = validContent(validKey(key), options);
    const isReentrant = validReentrant(options);
    const wish = { content, isListed: validListed(options) };
    const contender = new LockContender(key, wish, this.#session, { ...this.#ports, unresolved: this.unresolved });
    return {
      key,
      read: async () => (isReentrant ? undefined : this.refusalOfOwn([key])) ?? (await contender.read()),
      attempt: () =>
        this.turns.run([key], async () => {
          await this.verbsUnderWay([key]);
          const own = isReentrant ? undefined : this.refusalOfOwn([key]);
          if (own !== undefined) return own;
          const held = await this.again(key, content);
          if (held !== undefined) return { kind: 'acquired', right: held };
          const left = this.#left.get(key);
          if (left !== undefined) contender.observe(left);
          const attempt = await contender.attempt();
          return attempt.kind === 'acquired' ? { kind: 'acquired', right: this.register(attempt.right) } : attempt;
        }),
    };
  }

  /** Returns the lock if this session already holds it; undefined otherwise. */
  protected async again(key: string, content: Content | undefined): Promise<Lock | undefined> {
    const held = this.#held.get(key);
    try {
      await held?.confirm(content);
      return held?.lock;
    } catch (error) {
      // The session itself may still be live: contend for the key as others do.
      if (error instanceof LeaseLostError) return undefined;
      throw error;
    }
  }

  protected register(row: HeldLock): Lock {
    this.unresolved.end(row.key);
    const keeper = Lock.hold(row, {
      ...this.#ports,
      session: this.#session,
      onEnded: (ended, idle) => {
        if (this.lockOf(row.key) === ended) this.#held.delete(row.key);
        this.#leave(row.key, idle);
      },
      onUndecided: ({ key }) => this.unresolved.add(key),
      onReleased: ({ key, leaseCounter }) => {
        this.#remember(key, leaseCounter);
        this.#ports.turns.wake(key);
      },
    });
    if (!keeper.lock.signal.aborted) this.#held.set(row.key, keeper);
    return keeper.lock;
  }

  #leave(key: string, released: Promise<void>): void {
    this.#leaving.set(key, released);
    void released.then(() => {
      if (this.#leaving.get(key) === released) this.#leaving.delete(key);
    });
  }

  /**
   * Waits until an attempt may be sent.
   * A requested release counts as started, even while it waits for another operation of its lock.
   * @throws LeaseLostError once the session has begun to end, when it still lives but would release the key at once
   */
  protected async verbsUnderWay(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await this.#held.get(key)?.idle();
      await this.#leaving.get(key);
    }
    if (this.#isEnding) throw endedByHolder(this.#session.id);
  }

  #remember(key: string, counter: number): void {
    this.#left.delete(key);
    this.#left.set(key, counter);
    const [oldest] = this.#left.keys();
    if (this.#left.size > REMEMBERED_LIMIT && oldest !== undefined) this.#left.delete(oldest);
  }
}

function blockedBy(refusal: Refusal, now: number): Blocked<Refusal> {
  if (refusal.kind === 'contended') return { kind: 'blocked', by: refusal, until: now, isClosed: true };
  if (refusal.kind === 'delayed') return { kind: 'blocked', by: refusal, until: refusal.until, isClosed: true };
  return { kind: 'blocked', by: refusal, until: refusal.by.until };
}

export function validReentrant({ reentrant }: LockOptions): boolean {
  if (reentrant !== undefined && typeof reentrant !== 'boolean')
    throw new ConfigurationError(`reentrant = ${shown(reentrant)}: must be true or false`);
  return reentrant === true;
}

export function validListed({ listed }: LockOptions): boolean {
  if (listed !== undefined && typeof listed !== 'boolean')
    throw new ConfigurationError(`listed = ${shown(listed)}: must be true or false`);
  return listed !== false;
}
