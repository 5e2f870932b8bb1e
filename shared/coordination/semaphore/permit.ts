/**
 * The holder's side of a semaphore: one permit, from its admission to its release.
 *
 * Failure by failure:
 *   - The session is lost: so is the permit, and its signal aborts with the session's reason.
 *   - An operator evicts it: its session's next heartbeat answers with that, and the signal aborts. `check` asks at once.
 *   - The release is not answered: it is safe to release again; what is left, its session gives back with its heartbeats (`orphans.ts`).
 */
import { LeaseLostError, StoreUnavailableError } from '../../core/errors.ts';
import type { WriteLimits } from '../../core/lease/outcome.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { truthfulSignal } from '../../session/truthful-signal.ts';
import type { GiveBackPorts } from './give-back.ts';
import { giveBackPermit } from './give-back.ts';
import { settleLater } from './orphans.ts';
import { PermitBook } from './permit-book.ts';
import type { PermitRecord } from './semaphore.ts';
import { describeSemaphore, isSamePermit, revocationOf } from './semaphore.ts';

/** A part of a semaphore's limit, held by a session until it is released or lost. */
export class Permit implements AsyncDisposable {
  /** Name of the semaphore. */
  readonly semaphore: string;
  /** Whose it is, since when, how much of the limit it takes, and its token. */
  readonly record: PermitRecord;
  /**
   * Aborts, with a `LeaseLostError`, when the permit is held no more: lost, taken away, or released. Its `aborted` is computed when asked.
   */
  readonly signal: AbortSignal;

  readonly #session: SessionHolder;
  readonly #ports: GiveBackPorts;
  readonly #onReleased: () => void;
  readonly #stopListening: () => void;
  readonly #ended = new AbortController();
  #releasing: Promise<boolean> | undefined;
  /** As the first release found it: one that is repeated for want of an answer finds its own signal aborted. */
  #wasHeld: boolean | undefined;
  #mayBeReleased = false;

  /** @param onReleased is told once it is no longer meant to be kept here */
  constructor(
    semaphore: string,
    record: PermitRecord,
    session: SessionHolder,
    ports: GiveBackPorts,
    onReleased: () => void,
  ) {
    this.semaphore = semaphore;
    this.record = record;
    this.#session = session;
    this.#ports = ports;
    this.#onReleased = onReleased;
    this.#stopListening = session.onRevoked(revocationOf(semaphore, record.token), () =>
      this.#end(this.#loss('invalidated', 'it was evicted by an operator')),
    );
    const onLost = (): void => {
      if (session.signal.aborted) this.#end(session.signal.reason);
    };
    this.signal = truthfulSignal(this.#ended.signal, onLost);
    // Last: a session that was lost just now says so at once.
    session.signal.addEventListener('abort', onLost, { once: true, signal: this.#ended.signal });
  }

  get permits(): number {
    return this.record.permits;
  }

  /** Larger than that of any permit that was admitted before it. */
  get fencingToken(): number {
    return this.record.token;
  }

  /** Milliseconds for which it may still be believed in; zero or less: held no more. */
  remainingTrustMs(): number {
    return this.signal.aborted ? 0 : this.#session.remainingTrustMs();
  }

  /** @throws LeaseLostError when it may no longer be believed in */
  ensureBelief(): void {
    this.signal.throwIfAborted();
    this.#session.ensureBelief();
  }

  /** Asks the store whether it is still there, with one consistent read; aborts the signal when it is not. */
  async check(): Promise<boolean> {
    const current = await this.#ports.semaphores.get(this.semaphore);
    const holder = current?.holders.find((candidate) => isSamePermit(candidate, this.record));
    const isThere = holder !== undefined && holder.closedUntil === undefined;
    if (!isThere) this.#end(this.#loss('invalidated', 'it was evicted, or its session found dead'));
    return this.remainingTrustMs() > 0;
  }

  /**
   * Gives it back. Once it is released, or lost, doing so again changes nothing.
   * @returns whether it was still held
   * @throws StoreUnavailableError when the store did not confirm it; try again, or leave it to the end of the session
   */
  release(limits: WriteLimits = {}): Promise<boolean> {
    this.#releasing ??= this.#release(limits);
    return this.#releasing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  async #release(limits: WriteLimits): Promise<boolean> {
    this.#wasHeld ??= !this.signal.aborted;
    this.#end(this.#loss('released', 'it was released by its holder'));
    // Even if no answer comes: a permit that is not meant to be kept is pruned by the next contender of this very session.
    this.#onReleased();
    const { left } = PermitBook.of(this.#session);
    try {
      // No belief is needed: the guard names this permit and its token, so a late release cannot touch another's.
      const outcome = await giveBackPermit(this.semaphore, this.record, left, this.#ports, limits);
      this.#mayBeReleased ||= outcome.kind === 'applied' || outcome.earlierAttempt === 'unknown';
      return this.#wasHeld && this.#mayBeReleased;
    } catch (error) {
      this.#mayBeReleased ||= error instanceof StoreUnavailableError && error.applied === 'unknown';
      this.#releasing = undefined;
      settleLater({ name: this.semaphore }, this.#session, this.#ports);
      throw error;
    }
  }

  #end(reason: unknown): void {
    this.#stopListening();
    this.#ended.abort(reason);
  }

  #loss(reason: 'released' | 'invalidated', detail: string): LeaseLostError {
    return new LeaseLostError(`permit ${this.fencingToken} of ${describeSemaphore(this.semaphore)}`, reason, detail);
  }
}
