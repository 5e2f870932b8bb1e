/**
 * Unresolved keys: the response to an acquire or a release was lost, so the session does not know their state.
 * `unresolved-semaphores.ts` has the same for semaphores.
 *
 * The row of such a key may name the session although no lock of it is known here, or a request in flight
 * may still make it do so. A read cannot resolve this, because the request may still arrive later. The key is resolved once we have
 * read a row that the request can no longer change.
 */
import type { LockRecord } from './lock-record.ts';

/** The row state in which an unanswered acquire could still be applied. */
export type UnansweredAcquire =
  | {
      readonly kind: 'acquire';
      readonly askedAt: number;
      readonly openBefore: number;
      readonly observedCounter: number | undefined;
    }
  | { readonly kind: 'takeOver'; readonly askedAt: number; readonly session: string; readonly leaseCounter: number }
  /** One acquire of several keys, with each key as observed. */
  | { readonly kind: 'together'; readonly askedAt: number; readonly nonce: string | undefined };

/** Whether the acquire could still be applied to the current row, by the guards of `coordination/lock/row/lock-statements.ts`. */
function mayStillApply(lock: LockRecord | undefined, attempt: UnansweredAcquire): boolean {
  switch (attempt.kind) {
    case 'together':
      return lock?.nonce === attempt.nonce;
    case 'takeOver':
      return lock?.state === 'held' && lock.session === attempt.session && lock.leaseCounter === attempt.leaseCounter;
    case 'acquire':
      if (lock === undefined) return true;
      if (lock.state === 'held' || lock.notBefore > attempt.openBefore) return false;
      return lock.freedAt < attempt.openBefore || lock.leaseCounter === attempt.observedCounter;
  }
}

export class UnresolvedKeys {
  readonly #session: string;
  readonly #keys = new Map<string, UnansweredAcquire[]>();
  readonly #onUnresolved: (key: string) => void;

  /** @param onUnresolved receives each key that becomes unresolved */
  constructor(session: string, onUnresolved: (key: string) => void) {
    this.#session = session;
    this.#onUnresolved = onUnresolved;
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  /** @param attempt the acquire without a response. Absent: a release, which cannot take a key */
  add(key: string, attempt?: UnansweredAcquire): void {
    const attempts = this.#keys.get(key) ?? [];
    if (attempt !== undefined) attempts.push(attempt);
    this.#keys.set(key, attempts);
    this.#onUnresolved(key);
  }

  /**
   * Records a row from a strongly consistent read. A request that cannot be applied to it can never be applied later, because counters and
   * end times only grow.
   */
  see(key: string, lock: LockRecord | undefined): void {
    const attempts = this.#keys.get(key);
    if (attempts === undefined || (lock?.state === 'held' && lock.session === this.#session)) return;
    const open = attempts.filter((attempt) => mayStillApply(lock, attempt));
    if (open.length === 0) this.#keys.delete(key);
    else this.#keys.set(key, open);
  }

  /** Notes that the key is resolved. */
  end(key: string): void {
    this.#keys.delete(key);
  }

  /** When the last of the attempts was requested; 0 if there is none. */
  lastAskedAt(key: string): number {
    return Math.max(0, ...(this.#keys.get(key) ?? []).map(({ askedAt }) => askedAt));
  }
}
