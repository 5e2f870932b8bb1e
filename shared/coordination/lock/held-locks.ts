import { truthfulSignal } from '../../session/truthful-signal.ts';
import type { Lock } from './lock.ts';

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
