/**
 * Locks without a session: reads, waits for changes, values without a lock, and operator actions.
 */
import type { Duration } from '../../core/validate/duration.ts';
import { durationMs, givenMs } from '../../core/validate/duration.ts';
import { validName, validWholeNumber, validOptions } from '../../core/validate/options.ts';
import { CorruptItemError } from '../../core/errors.ts';
import { pagesOf } from '../../core/runtime/take.ts';
import { stampOf, ensureUnwritten } from '../../core/lease/write.ts';
import { MAX_LOCK_DELAY_MS } from '../../core/lease/timing.ts';
import { closingOf, trustedUntil } from '../../session/session-record.ts';
import type { Contended } from '../../core/wait/retry-contended.ts';
import { contended, retryContended } from '../../core/wait/retry-contended.ts';
import type { HeldLock, Holder, LockInfo, LockRecord, Refusal } from './lock-record.ts';
import { describeLock, opensAt, validKey, validValue } from './lock-record.ts';
import type { LockSnapshot } from './lock-reader.ts';
import { LockReader } from './lock-reader.ts';
import type { Taking } from './lock-store.ts';
import type { LockPorts } from './lock-verdict.ts';
import { LockWatch } from './watch.ts';
import { pollUntil } from '../../core/wait/poll-until.ts';
import { validSignal } from '../../core/wait/wait.ts';

export interface WatchOptions {
  /** The modify index that the caller saw last. 0 or absent: none yet. */
  readonly index?: number | undefined;
  /** Maximum wait. Default: until `signal` aborts. */
  readonly timeout?: Duration | undefined;
  /**
   * Whether a missing row counts as a change for a caller that passes an index, because TTL may have deleted the row since then. Default:
   * true.
   */
  readonly isAbsenceNews?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Watched {
  /** The index to pass to the next call. */
  readonly index: number;
  /** Undefined: the key has no entry. */
  readonly info: LockInfo | undefined;
  /** When the lock-delay of the key ends, even without an entry. 0: it is open, or held. */
  readonly closedUntil: number;
}

export interface PutOptions {
  /** Check and set: write only if the entry has this modify index. 0: only if there is no entry. */
  readonly ifIndex?: number | undefined;
  /** Whether to write even while the key is held. This is allowed because locks are advisory. */
  readonly evenIfHeld?: boolean | undefined;
}

export interface DeleteOptions extends Pick<PutOptions, 'ifIndex'> {
  /** Whether to delete even while the key is held, which ends the holder's tenure. The key then stays closed as after `forceRelease`. */
  readonly evenIfHeld?: boolean | undefined;
  /** As of `forceRelease`. */
  readonly lockDelay?: Duration | undefined;
}

/** The end of a revoked tenure. */
export interface TakenAway {
  /** When the key opens, by this process's clock. 0: it is open. */
  readonly closedUntil: number;
  /** When the former holder stops trusting it, by its own clock, if no heartbeat gets through. 0: it has stopped. */
  readonly trustedUntil: number;
}

export type PutResult =
  | { readonly kind: 'written'; readonly info: LockInfo }
  | { readonly kind: 'conflict'; readonly current: LockInfo | undefined }
  | Extract<Refusal, { kind: 'held' }>;

export type DeleteResult =
  | ({ readonly kind: 'deleted' } & TakenAway)
  | { readonly kind: 'absent' }
  | { readonly kind: 'conflict'; readonly current: LockInfo | undefined }
  | Extract<Refusal, { kind: 'held' }>;

export interface ForceOptions {
  /** The operator and the reason, which the row stores. */
  readonly by: string;
  readonly reason: string;
  /** The tenure to end, as `get` showed it: any other tenure stays. */
  readonly leaseCounter: number;
  /**
   * How long the key stays closed. Default: the lock-delay of its session, and as long as the former holder may trust it. With less, two
   * holders may trust it at once.
   */
  readonly lockDelay?: Duration | undefined;
}

export type ForceResult =
  | ({ readonly kind: 'released' } & TakenAway)
  /** The key no longer has this holder. */
  | { readonly kind: 'superseded'; readonly current: LockInfo | undefined };

const WATCH_OPTIONS = ['index', 'timeout', 'isAbsenceNews', 'signal'] as const;
const DELETE_OPTIONS = ['ifIndex', 'evenIfHeld', 'lockDelay'] as const;
const PUT_OPTIONS = ['ifIndex', 'evenIfHeld'] as const;
const FORCE_OPTIONS = ['by', 'reason', 'leaseCounter', 'lockDelay'] as const;

const NOT_HELD: Taking = { tell: false, lockDelayMs: 0, trustedUntil: 0 };

/** Reads, watches, writes, deletes and force-releases keys without holding a session. */
export class LockClient {
  readonly #ports: LockPorts;
  readonly #reader: LockReader;
  readonly #watch: LockWatch;
  readonly #maxClockSkewMs: number;

  constructor(ports: LockPorts, maxClockSkewMs: number) {
    this.#ports = ports;
    this.#maxClockSkewMs = maxClockSkewMs;
    this.#reader = new LockReader(ports, maxClockSkewMs);
    this.#watch = new LockWatch(ports, this.#reader);
  }

  /** Returns a key's entry and holder, strongly consistent; undefined if there is no entry. */
  async get(key: string): Promise<LockInfo | undefined> {
    return this.#reader.infoOf(await this.#reader.see(validKey(key)));
  }

  /** Returns a key like `get`, with its watchers' index, even after a deletion. 0: the row does not exist. */
  async read(key: string): Promise<Watched> {
    const sighting = await this.#reader.see(validKey(key));
    return this.#watched(sighting);
  }

  /**
   * Returns entries whose key begins with `prefix`, in order of key. The listing is eventually consistent; the state of each key is
   * strongly consistent.
   * @param onDamaged receives rows that do not decode:
   *   such an entry is missing from the list, and a key whose holder's session is damaged is shown as held
   */
  async *list(prefix = '', onDamaged: (error: unknown) => void = ignore): AsyncGenerator<LockInfo> {
    const { locks, sessions } = this.#ports;
    const begin = prefix === '' ? prefix : validKey(prefix);
    for await (const { keys } of pagesOf((after) => locks.page(begin, after))) {
      const rows = await locks.getMany(keys, { onDamaged });
      const holders = new Set([...rows.values()].flatMap((row) => (row.state === 'held' ? [row.session] : [])));
      const damaged = new Set<string>();
      const records = await sessions.getMany([...holders], (id, error) => {
        damaged.add(id);
        onDamaged(error);
      });
      for (const key of keys) {
        const sighting = await this.#reader.judgeListed(rows.get(key), { records, damaged }, onDamaged);
        const info = this.#reader.infoOf(sighting);
        if (info !== undefined) yield info;
      }
    }
  }

  /**
   * Waits until a key has changed since `index`, or the timeout is over, and returns the key's state at that time.
   * All waiters for a key in this process share one poll, which costs less than one read unit a second.
   */
  async watch(key: string, options: WatchOptions = {}): Promise<Watched> {
    const what = `watching ${describeLock(key)}`;
    const {
      index = 0,
      timeout,
      isAbsenceNews = true,
      signal,
    } = validOptions(`the options of ${what}`, options, WATCH_OPTIONS);
    validWholeNumber(`${what}: index`, index, { min: 0 });
    validSignal(signal);
    const isNews = ({ lock }: LockSnapshot): boolean => {
      const found = lock?.modifyIndex ?? 0;
      // A row that TTL deleted, and that may have been recreated, is a change as well.
      return found > index || (found === 0 && index > 0 && isAbsenceNews);
    };
    const read = (): Promise<LockSnapshot> => this.#reader.see(validKey(key));
    const next = (isOurs: typeof isNews, over: AbortSignal) => this.#watch.next(key, isOurs, over);
    return this.#watched(await this.#within(timeout, signal, (over) => pollUntil({ read, isNews, next }, over)));
  }

  /** Call this after this process has written these keys: local watchers skip the pause before their next poll. */
  nudge(keys: readonly string[]): void {
    this.#watch.nudge(keys);
  }

  /** Call this after this process has ended a session, which also released its locks. */
  nudgeHeldBy(session: string): void {
    this.#watch.nudgeHeldBy(session);
  }

  /** Returns states of a key that its watcher has not seen, for continuous watching. */
  async nextSighting(
    key: string,
    isNews: (info: LockInfo | undefined) => boolean,
    signal: AbortSignal,
  ): Promise<{ readonly info: LockInfo | undefined } | undefined> {
    const sighting = await this.#watch.next(key, (seen) => isNews(this.#reader.infoOf(seen)), signal);
    return sighting === undefined ? undefined : { info: this.#reader.infoOf(sighting) };
  }

  /**
   * Stores a value without a lock. It stays until it is deleted. An unchanged value is not written again.
   * @returns `held` while the key has a holder, `conflict` if `ifIndex` is not its index
   * @throws StoreUnavailableError with `applied: 'unknown'` if the response was lost and others have written the key since
   */
  async put(key: string, value: string, options: PutOptions = {}): Promise<PutResult> {
    validOptions(`the options of putting ${describeLock(key)}`, options, PUT_OPTIONS);
    const content = validValue(validKey(key), value);
    return this.#decide(key, options, async (lock, holder) => {
      const isStored = lock?.entry?.value === value && lock.entry.consul === undefined;
      const stored = isStored ? this.#reader.infoOf({ lock, holder }) : undefined;
      if (stored !== undefined) return { kind: 'written', info: stored };
      const outcome = await this.#ports.locks.put(key, lock, content, stampOf(this.#ports.runtime));
      if (outcome.kind === 'refused') {
        ensureUnwritten(describeLock(key), outcome);
        return undefined;
      }
      const info = this.#reader.infoOf({ lock: outcome.row, holder });
      return info === undefined ? undefined : { kind: 'written', info };
    });
  }

  /**
   * Deletes an entry; its counter stays.
   * @returns `held` while the key has a holder: force-release it first, or delete it with `evenIfHeld`
   * @throws StoreUnavailableError as `put`
   */
  async delete(key: string, options: DeleteOptions = {}): Promise<DeleteResult> {
    validOptions(`the options of deleting ${describeLock(key)}`, options, DELETE_OPTIONS);
    const askedMs = givenMs('lockDelay', options.lockDelay);
    const { locks, runtime } = this.#ports;
    return this.#decide(validKey(key), options, async (lock) => {
      if (lock?.entry === undefined) return { kind: 'absent' };
      const { taking, believedUntil, isRemote } = await this.#takingFrom(lock, askedMs);
      // Consul's clients acquire a key right after its deletion.
      const isOpen = isRemote && askedMs === undefined;
      const outcome = await locks.remove(lock, isOpen ? NOT_HELD : taking, stampOf(runtime));
      if (outcome.kind === 'applied') return { kind: 'deleted', ...this.#taken(outcome.notBefore, believedUntil) };
      ensureUnwritten(describeLock(key), outcome);
      return undefined;
    });
  }

  /**
   * Revokes the tenure that an operator saw, with a name and a reason.
   * The counter grows, so the former holder is fenced at once. Its signal aborts at its session's next heartbeat,
   * and the key stays closed during the lock-delay, and for as long as a holder that hears nothing trusts it.
   */
  async forceRelease(key: string, options: ForceOptions): Promise<ForceResult> {
    validOptions(`the options of releasing ${describeLock(key)} by force`, options, FORCE_OPTIONS);
    const by = validName('by', options.by);
    const reason = validName('reason', options.reason);
    const askedMs = givenMs('lockDelay', options.lockDelay);
    const { locks, runtime } = this.#ports;
    return retryContended(describeLock(key), runtime, async ({ earlierAttempt }): Promise<ForceResult | Contended> => {
      const lock = await locks.get(validKey(key));
      if (!isTenure(lock, options.leaseCounter)) {
        ensureUnwritten(describeLock(key), { earlierAttempt }, 'that tenure is over');
        return { kind: 'superseded', current: await this.get(key) };
      }
      const { taking, believedUntil, isDeleting } = await this.#takingFrom(lock, askedMs);
      const outcome = await locks.forceRelease(lock, { by, reason, isDeleting, ...taking }, stampOf(runtime));
      if (outcome.kind === 'refused') return contended(outcome);
      return { kind: 'released', ...this.#taken(outcome.notBefore, believedUntil) };
    });
  }

  /** Reads the row, decides, and writes on condition that the row is unchanged. Repeats until the outcome is known. */
  async #decide<Result>(
    key: string,
    { ifIndex, evenIfHeld = false }: PutOptions,
    write: (lock: LockRecord | undefined, holder: Holder | undefined) => Promise<Result | undefined>,
  ): Promise<Result | { kind: 'conflict'; current: LockInfo | undefined } | Extract<Refusal, { kind: 'held' }>> {
    type Decision = Result | { kind: 'conflict'; current: LockInfo | undefined } | Extract<Refusal, { kind: 'held' }>;
    return retryContended(describeLock(key), this.#ports.runtime, async (): Promise<Decision | Contended> => {
      const sighting = await this.#reader.see(key);
      const { lock, holder } = sighting;
      const index = lock?.entry === undefined ? 0 : lock.modifyIndex;
      if (ifIndex !== undefined && ifIndex !== index)
        return { kind: 'conflict', current: this.#reader.infoOf(sighting) };
      if (holder !== undefined && !evenIfHeld) return { kind: 'held', key, by: holder };
      return (await write(lock, holder)) ?? contended();
    });
  }

  /** If the holder's session row is damaged, we cannot notify the holder, so the longest lock-delay applies. */
  async #takingFrom(
    lock: LockRecord,
    askedMs: number | undefined,
  ): Promise<{
    readonly taking: Taking;
    readonly believedUntil: number;
    readonly isRemote: boolean;
    readonly isDeleting: boolean;
  }> {
    const unknown = { believedUntil: 0, isRemote: false, isDeleting: false };
    if (lock.state !== 'held') return { taking: NOT_HELD, ...unknown };
    try {
      const session = await this.#ports.sessions.get(lock.session);
      // A remote session has no local heartbeat that would read the notice.
      const tell = session?.status === 'live' && session.remote !== true;
      const reading = { now: this.#ports.runtime.clock.now(), maxClockSkewMs: this.#maxClockSkewMs };
      return {
        taking: { tell, ...closingOf(session, reading, askedMs) },
        believedUntil: trustedUntil(session, reading),
        isRemote: session?.remote === true,
        isDeleting: session?.behaviour === 'delete',
      };
    } catch (error) {
      if (!(error instanceof CorruptItemError)) throw error;
      const lockDelayMs = askedMs ?? MAX_LOCK_DELAY_MS;
      return { taking: { ...NOT_HELD, lockDelayMs }, ...unknown };
    }
  }

  #taken(notBefore: number, believedUntil: number): TakenAway {
    const isOver = believedUntil <= this.#ports.runtime.clock.now() - this.#maxClockSkewMs;
    return { closedUntil: opensAt(notBefore, this.#maxClockSkewMs), trustedUntil: isOver ? 0 : believedUntil };
  }

  #watched(sighting: LockSnapshot): Watched {
    const { lock } = sighting;
    const closedUntil = this.#reader.closedUntil(lock);
    return { index: lock?.modifyIndex ?? 0, info: this.#reader.infoOf(sighting), closedUntil };
  }

  /** Runs `wait` until it returns, the time is over, or `signal` aborts. */
  async #within<T>(
    timeout: Duration | undefined,
    signal: AbortSignal | undefined,
    wait: (over: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const finished = new AbortController();
    const late = new AbortController();
    if (timeout !== undefined)
      void this.#ports.runtime.clock.sleep(durationMs('timeout', timeout), finished.signal).then(() => late.abort());
    try {
      return await wait(signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]));
    } finally {
      finished.abort();
    }
  }
}

function ignore(): void {
  // Damaged rows are reported only to callers that ask.
}

function isTenure(lock: LockRecord | undefined, leaseCounter: number): lock is HeldLock {
  return lock?.state === 'held' && lock.leaseCounter === leaseCounter;
}
