/**
 * The holder's side of a semaphore: one permit, from its admission to its release.
 *
 * Failure by failure:
 *   - The session is lost: the permit is lost too, and its signal aborts with the session's reason.
 *   - An operator evicts it: its session's next heartbeat reports that, and the signal aborts. `check` reads the store at once.
 *   - The response to a release is lost: releasing again is safe, and if the permit remains, the session's heartbeats release it
 *     (`unresolved-semaphores.ts`).
 */
import { LeaseLostError, StoreUnavailableError } from '../../core/errors.ts';
import type { WriteLimits } from '../../core/lease/write.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import { truthfulSignal } from '../../session/truthful-signal.ts';
import type { GiveBackPorts } from './give-back.ts';
import { giveBackPermit } from './give-back.ts';
import { settleLater } from './unresolved-semaphores.ts';
import { PermitBook } from './permit-book.ts';
import type { PermitRecord } from './semaphore.ts';
import { describeSemaphore, isSamePermit, revocationOf } from './semaphore.ts';

/** A part of a semaphore's limit, held by a session until it is released or lost. */
export class Permit implements AsyncDisposable {
  /** Name of the semaphore. */
  readonly semaphore: string;
  /** The permit's session, time of admission, share of the limit, and token. */
  readonly record: PermitRecord;
  /**
   * Aborts, with a `LeaseLostError`, when the permit is no longer held: lost, evicted, or released. Its `aborted` is computed on each read.
   */
  readonly signal: AbortSignal;

  readonly #session: SessionHolder;
  readonly #ports: GiveBackPorts;
  readonly #onReleased: () => void;
  readonly #stopListening: () => void;
  readonly #ended = new AbortController();
  #releasing: Promise<boolean> | undefined;
  /** The state at the first release: a release that is retried after a lost response finds its own signal aborted. */
  #wasHeld: boolean | undefined;
  #mayBeReleased = false;

  /** @param onReleased runs once this process no longer wants to keep the permit */
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
    // Last, because a session that was just lost reports it immediately.
    session.signal.addEventListener('abort', onLost, { once: true, signal: this.#ended.signal });
  }

  get permits(): number {
    return this.record.permits;
  }

  /** Larger than the token of every permit that was admitted earlier. */
  get fencingToken(): number {
    return this.record.token;
  }

  /** Milliseconds for which the permit is still trusted; zero or less: no longer held. */
  remainingTrustMs(): number {
    return this.signal.aborted ? 0 : this.#session.remainingTrustMs();
  }

  /** @throws LeaseLostError when the permit can no longer be trusted */
  ensureTrusted(): void {
    this.signal.throwIfAborted();
    this.#session.ensureTrusted();
  }

  /** Checks with one consistent read whether the permit still exists, and aborts the signal if it does not. */
  async check(): Promise<boolean> {
    const current = await this.#ports.semaphores.get(this.semaphore);
    const holder = current?.holders.find((candidate) => isSamePermit(candidate, this.record));
    const isThere = holder !== undefined && holder.closedUntil === undefined;
    if (!isThere) this.#end(this.#loss('invalidated', 'it was evicted, or its session found dead'));
    return this.remainingTrustMs() > 0;
  }

  /**
   * Releases the permit. A repeated call, or a call after the permit was lost, changes nothing.
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
    // Do this even without a response: the next contender of the same session prunes permits that are no longer wanted.
    this.#onReleased();
    const { left } = PermitBook.of(this.#session);
    try {
      // This does not require trust: the guard names this permit and its token, so a late release cannot affect another permit.
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
