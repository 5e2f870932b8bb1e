/** The locks of one session, including several in one transaction. */
import { ConfigurationError, shown, StoreUnavailableError } from '../../core/errors.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { validOptions } from '../../core/validate/options.ts';
import type { WaitOptions } from '../../core/wait/wait.ts';
import type { Attempt, KeyContender } from './lock-contender.ts';
import type { Lock, LockOptions } from './lock.ts';
import type { Content, Refusal, HeldLock } from './lock-record.ts';
import { validContent, validKey, grantedRow, opensAt } from './lock-record.ts';
import type { LockWish, AcquireRequest, Observed } from './lock-store.ts';
import type { SessionLocksPorts } from './session-locks.ts';
import { LOCK_OPTIONS, OPTIONS, PATIENT_OPTIONS, SessionLocks, validListed, validReentrant } from './session-locks.ts';
import type { LockPorts } from './lock-verdict.ts';
import { ensureClockWithin } from '../../core/lease/skew.ts';
import type { Stamp } from '../../core/lease/write.ts';
import { stampOf } from '../../core/lease/write.ts';
import { ATTEMPT_ROUNDS_LIMIT, lockLimitsOf } from './lock-contender.ts';
import { lockVerdictOf } from './lock-verdict.ts';
import type { UnresolvedKeys } from './unresolved-keys.ts';
import { truthfulSignal } from '../../session/truthful-signal.ts';

export type AcquisitionOfSeveral = { readonly kind: 'acquired'; readonly locks: HeldLocks } | Refusal;

export type SeveralLocksPorts = SessionLocksPorts & LockPorts;

export class SeveralLocks extends SessionLocks {
  readonly #session: SessionHolder;
  readonly #ports: SeveralLocksPorts;

  constructor(session: SessionHolder, ports: SeveralLocksPorts) {
    super(session, ports);
    this.#session = session;
    this.#ports = ports;
  }

  /** Acquires several keys in one transaction, without waiting. */
  async tryAcquireAll(keys: readonly string[], options: LockOptions = {}): Promise<AcquisitionOfSeveral> {
    validOptions(OPTIONS, options, LOCK_OPTIONS);
    const attempt = await this.#several(keys, options).attempt();
    if (attempt.kind !== 'acquired') this.ensureDecided(keys);
    return attempt.kind === 'acquired' ? { kind: 'acquired', locks: attempt.right } : attempt;
  }

  /** Acquires several keys in one transaction; does not hold a key while it waits. @throws as `acquire` */
  async acquireAll(keys: readonly string[], options: LockOptions & WaitOptions = {}): Promise<HeldLocks> {
    validOptions(OPTIONS, options, PATIENT_OPTIONS);
    return this.wait(keys, this.#several(keys, options), options);
  }

  #several(keys: readonly string[], options: LockOptions): KeyContender<HeldLocks> {
    if (!Array.isArray(keys)) throw new ConfigurationError(`the lock keys are ${shown(keys)}: must be a list of them`);
    const wanted = [...new Set((keys as readonly string[]).map(validKey))].sort();
    const [first] = wanted;
    if (first === undefined || wanted.length > KEYS_LIMIT)
      throw new ConfigurationError(
        `${wanted.length} lock keys are given: must be 1 to ${KEYS_LIMIT}, what one transaction takes`,
      );
    const wish = { content: validContent(first, options), isListed: validListed(options) };
    const isReentrant = validReentrant(options);
    return {
      key: JSON.stringify(wanted),
      read: () => Promise.resolve(undefined),
      attempt: () =>
        this.turns.run(wanted, async () => {
          await this.verbsUnderWay(wanted);
          const own = isReentrant ? undefined : this.refusalOfOwn(wanted);
          return own ?? (await this.#attemptSeveral(wanted, wish));
        }),
    };
  }

  /** Held keys are confirmed last, because a refused attempt, the usual case while waiting, has written nothing. */
  async #attemptSeveral(wanted: readonly string[], wish: LockWish): Promise<Attempt<HeldLocks>> {
    const lost = new Set<Lock>();
    for (;;) {
      const locks = new Map<string, Lock>();
      for (const lock of wanted.flatMap((key) => this.lockOf(key) ?? []))
        if (!lock.signal.aborted && !lost.has(lock)) locks.set(lock.key, lock);
      const held = [...locks.values()];
      const missing = wanted.filter((key) => !locks.has(key));
      const attempt = await this.#attemptMissing(missing, wish);
      if (attempt.kind !== 'acquired') return attempt;
      for (const lock of attempt.right) locks.set(lock.key, lock);
      const lostOne = await this.#confirmOrLeave(held, wish.content, attempt.right);
      if (lostOne === undefined)
        return { kind: 'acquired', right: new HeldLocks(wanted.flatMap((key) => locks.get(key) ?? [])) };
      lost.add(lostOne);
    }
  }

  async #attemptMissing(keys: readonly string[], wish: LockWish): Promise<Attempt<readonly Lock[]>> {
    if (keys.length === 0) return { kind: 'acquired', right: [] };
    const attempt = await new SeveralContender(keys, wish, this.#session, {
      ...this.#ports,
      unresolved: this.unresolved,
    }).attempt();
    if (attempt.kind !== 'acquired') return attempt;
    return { kind: 'acquired', right: attempt.right.map((row) => this.register(row)) };
  }

  /** Confirms all keys: if a held key is lost, the newly acquired keys are released again. @returns the lost key */
  async #confirmOrLeave(
    held: readonly Lock[],
    content: Content | undefined,
    acquired: readonly Lock[],
  ): Promise<Lock | undefined> {
    // The next attempt, or the session's end, releases what cannot be released now.
    const leave = () => Promise.allSettled(acquired.map((lock) => lock.release()));
    try {
      for (const lock of held) {
        if ((await this.again(lock.key, content)) === lock) continue;
        await leave();
        return lock;
      }
      return undefined;
    } catch (error) {
      await leave();
      throw error;
    }
  }
}

/** DynamoDB's limit on the actions of one transaction. */
export const KEYS_LIMIT = 100;

/**
 * Acquires several keys: reads and judges the rows, then acquires them in one transaction that depends on the rows as read.
 * A waiter for several keys does not hold a key, so it cannot deadlock.
 */
export class SeveralContender implements KeyContender<readonly HeldLock[]> {
  readonly key: string;
  readonly #keys: readonly string[];
  readonly #wish: LockWish;
  readonly #session: SessionHolder;
  readonly #ports: LockPorts & { readonly unresolved: UnresolvedKeys };
  readonly #maxClockSkewMs: number;

  /** @param keys without duplicates, and without keys that the session knowingly holds */
  constructor(
    keys: readonly string[],
    wish: LockWish,
    session: SessionHolder,
    ports: LockPorts & { readonly unresolved: UnresolvedKeys },
  ) {
    this.#keys = keys;
    this.key = JSON.stringify(keys);
    this.#wish = wish;
    this.#session = session;
    this.#ports = ports;
    this.#maxClockSkewMs = session.timing.maxClockSkewMs;
  }

  async attempt(): Promise<Attempt<readonly HeldLock[]>> {
    const { runtime, gauge } = this.#ports;
    for (let round = 1; round <= ATTEMPT_ROUNDS_LIMIT; round++) {
      ensureClockWithin(gauge, this.#maxClockSkewMs);
      const observed = await this.#observe();
      const refusal = observed.find((found) => 'refusal' in found)?.refusal;
      if (refusal !== undefined) return refusal;
      const free = observed as readonly Observed[];
      const stamp = stampOf(runtime);
      const openBefore = stamp.now - this.#maxClockSkewMs;
      const request = { session: this.#session.id, ...this.#wish, openBefore };
      if (!(await this.#send(free, request, stamp))) continue;
      this.#session.ensureTrusted();
      return { kind: 'acquired', right: free.map((row) => grantedRow(row, request, stamp)) };
    }
    return { kind: 'contended', key: this.#keys[0] ?? '' };
  }

  async #send(free: readonly Observed[], request: Omit<AcquireRequest, 'key'>, stamp: Stamp): Promise<boolean> {
    const { locks, unresolved } = this.#ports;
    const noteUnresolved = (): void => {
      for (const { key, record } of free)
        unresolved.add(key, { kind: 'together', askedAt: stamp.now, nonce: record?.nonce });
    };
    try {
      const outcome = await locks.acquireAll(free, request, stamp, lockLimitsOf(this.#session));
      if (outcome.kind === 'refused' && outcome.earlierAttempt === 'unknown') noteUnresolved();
      return outcome.kind === 'applied';
    } catch (error) {
      if (error instanceof StoreUnavailableError && error.applied === 'unknown') noteUnresolved();
      throw error;
    }
  }

  /** An attempt reads before it writes, so there is no cheaper poll. */
  read(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async #observe(): Promise<readonly (Observed | { readonly refusal: Refusal })[]> {
    const { locks, sessions } = this.#ports;
    const rows = await locks.getMany(this.#keys);
    for (const key of this.#keys) this.#ports.unresolved.see(key, rows.get(key));
    const holders = new Set([...rows.values()].flatMap((row) => (row.state === 'held' ? [row.session] : [])));
    holders.delete(this.#session.id);
    const records = holders.size === 0 ? new Map<string, never>() : await sessions.getMany([...holders]);
    const found: (Observed | { readonly refusal: Refusal })[] = [];
    // One after the other, so that the session of an expired holder of several keys is ended only once.
    for (const key of this.#keys) {
      const record = rows.get(key);
      if (record?.state !== 'held' || record.session === this.#session.id) {
        const until = opensAt(record?.notBefore ?? 0, this.#maxClockSkewMs);
        found.push(this.#refusedUntil(key, until) ?? { key, record, isFresh: false });
        continue;
      }
      const standing = await lockVerdictOf(record, records.get(record.session), this.#ports, this.#maxClockSkewMs);
      if (standing.kind === 'held') found.push({ refusal: { kind: 'held', key, by: standing.by } });
      else
        found.push(
          this.#refusedUntil(key, standing.openAt) ?? {
            key,
            record,
            isFresh: standing.disposition.behaviour === 'delete',
          },
        );
    }
    return found;
  }

  #refusedUntil(key: string, until: number): { readonly refusal: Refusal } | undefined {
    const isClosed = this.#ports.runtime.clock.now() < until;
    return isClosed ? { refusal: { kind: 'delayed', key, until } } : undefined;
  }
}

/** Locks that were acquired together. Each can be released separately. */
export class HeldLocks implements AsyncDisposable {
  readonly #locks: ReadonlyMap<string, Lock>;
  /** Aborts when the first of them is no longer held. */
  readonly signal: AbortSignal;

  constructor(locks: readonly Lock[]) {
    this.#locks = new Map(locks.map((lock) => [lock.key, lock]));
    const signals = locks.map(({ signal }) => signal);
    // Reading each lock's state makes it notice a loss.
    this.signal = truthfulSignal(AbortSignal.any(signals), () => {
      signals.some(({ aborted }) => aborted);
    });
  }

  get(key: string): Lock | undefined {
    return this.#locks.get(key);
  }

  [Symbol.iterator](): Iterator<Lock> {
    return this.#locks.values();
  }

  /** @throws StoreUnavailableError when the outcome of a release is unknown; the call may be repeated */
  async release(): Promise<void> {
    const outcomes = await Promise.allSettled([...this.#locks.values()].map((lock) => lock.release()));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release();
  }
}
