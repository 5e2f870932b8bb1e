/**
 * Reads the state of keys.
 *
 * A reader shows a key whose session has expired in its resulting state:
 * free, closed for its lock-delay, or, with the behavior `delete`, without its entry.
 * The first reader records that state with one guarded write, so that the modify index changes for watchers.
 * A reader without write permission, or with a wrong clock, sees the row unchanged.
 */
import { ClockSkewError, ConfigurationError, CorruptItemError, StoreUnavailableError } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { SessionRecord } from '../../session/session-record.ts';
import { judgeSession } from '../../session/session-record.ts';
import type { HeldLock, Holder, LockInfo, LockRecord } from './lock-record.ts';
import { opensAt } from './lock-record.ts';
import type { LockPorts, LockVerdict } from './lock-verdict.ts';
import { holderOf, lockVerdictOf } from './lock-verdict.ts';

export interface LockSnapshot {
  /** Its current row, with the state of an expired session recorded if necessary. */
  readonly lock: LockRecord | undefined;
  readonly holder: Holder | undefined;
}

export class LockReader {
  readonly #ports: LockPorts;
  readonly #maxClockSkewMs: number;

  constructor(ports: LockPorts, maxClockSkewMs: number) {
    this.#ports = ports;
    this.#maxClockSkewMs = maxClockSkewMs;
  }

  /**
   * Makes one request for a free key and two for a held one; strongly consistent. A damaged session may be live, so its key counts as held.
   */
  async see(key: string): Promise<LockSnapshot> {
    const { locks, sessions } = this.#ports;
    const lock = await locks.get(key);
    if (lock?.state !== 'held') return this.judge(lock, undefined);
    let session: SessionRecord | undefined;
    try {
      session = await sessions.get(lock.session);
      return await this.judge(lock, session);
    } catch (error) {
      if (!(error instanceof CorruptItemError)) throw error;
      return { lock, holder: holderOf(lock, session, null) };
    }
  }

  /** @param session the holder's session, as just read */
  async judge(lock: LockRecord | undefined, session: SessionRecord | undefined): Promise<LockSnapshot> {
    if (lock?.state !== 'held') return { lock, holder: undefined };
    const standing = await this.#standing(lock, session);
    if (standing.kind === 'held') return { lock, holder: standing.by };
    return { lock: await this.#tidy(lock, standing), holder: undefined };
  }

  /** Describes a key for a list. A damaged session must not hide other keys. It may be live, so its key is shown as held. */
  async judgeListed(
    lock: LockRecord | undefined,
    sessions: { readonly records: ReadonlyMap<string, SessionRecord>; readonly damaged: ReadonlySet<string> },
    onDamaged: (error: unknown) => void,
  ): Promise<LockSnapshot> {
    if (lock?.state !== 'held') return this.judge(lock, undefined);
    const session = sessions.records.get(lock.session);
    const asHeld = { lock, holder: holderOf(lock, session, null) };
    if (sessions.damaged.has(lock.session)) return asHeld;
    try {
      return await this.judge(lock, session);
    } catch (error) {
      if (!(error instanceof CorruptItemError)) throw error;
      onDamaged(error);
      return asHeld;
    }
  }

  /** Describes a key; undefined if it has no entry. */
  infoOf({ lock, holder }: LockSnapshot): LockInfo | undefined {
    if (lock?.entry === undefined) return undefined;
    const { key, entry, leaseCounter, modifyIndex, lastForced } = lock;
    return { key, ...entry, leaseCounter, modifyIndex, holder, closedUntil: this.closedUntil(lock), lastForced };
  }

  /** Returns when a key's lock-delay ends, even without an entry. 0: it is open, or held. */
  closedUntil(lock: LockRecord | undefined): number {
    const openAt = lock?.state === 'free' ? opensAt(lock.notBefore, this.#maxClockSkewMs) : 0;
    return openAt > this.#ports.runtime.clock.now() ? openAt : 0;
  }

  async #standing(lock: HeldLock, session: SessionRecord | undefined): Promise<LockVerdict> {
    try {
      return await lockVerdictOf(lock, session, this.#ports, this.#maxClockSkewMs);
    } catch (error) {
      if (!isNoMatterForReaders(error)) throw error;
      const verdict = judgeSession(session, this.#ports.runtime.clock.now(), this.#maxClockSkewMs);
      const until = verdict.kind === 'live' ? verdict.until : this.#ports.runtime.clock.now();
      return { kind: 'held', by: holderOf(lock, session, until) };
    }
  }

  async #tidy(lock: HeldLock, { disposition }: LockVerdict & { kind: 'abandoned' }): Promise<LockRecord | undefined> {
    const { locks, runtime } = this.#ports;
    try {
      const sweepable = lock.entry?.value === undefined;
      const outcome = await locks.settle(lock, disposition, sweepable, stampOf(runtime));
      return outcome.kind === 'applied' ? outcome.row : outcome.current;
    } catch (error) {
      if (!isNoMatterForReaders(error)) throw error;
      const { session: _, acquiredAt: __, ...facts } = lock;
      const entry = disposition.behaviour === 'delete' ? undefined : lock.entry;
      // The store does not contain this state, so no write may depend on it: its nonce does not match any row.
      return { ...facts, entry, state: 'free', notBefore: disposition.notBefore, nonce: '' };
    }
  }
}

/** A reader does not depend on its optional write: the next reader tries again. */
function isNoMatterForReaders(error: unknown): boolean {
  return (
    error instanceof StoreUnavailableError || error instanceof ConfigurationError || error instanceof ClockSkewError
  );
}
