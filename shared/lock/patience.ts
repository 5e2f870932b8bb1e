/**
 * Waiting for a key: how long until it is worth asking again.
 *
 * Full jitter, growing to a cap, so that waiters of many processes spread out: at the cap each asks every three seconds on average, 200 of
 * them together 67 times a second, and 95 in their first half minute. Nobody asks before a lock-delay is over. A holder may release at any
 * time, and asking is how a waiter in another process learns of it; that a holder's session may have expired is known beforehand, so a waiter
 * is there when it happens.
 */
import { LeaseLostError, StoreUnavailableError } from '../errors.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { fullJitterMs } from '../runtime/random.ts';
import type { SessionHolder } from '../session/holder.ts';
import type { Refusal } from './lock.ts';
import { LockUnavailableError } from './lock.ts';

export const LONGEST_PAUSE_MS = 6_000;
/** The first pause is up to an eighth of the longest. */
const GROWTH = 8;
/** Waiters that all wait for one moment spread over a tenth of their wait behind it, within these bounds. */
const SPREAD = { share: 0.1, minMs: 50, maxMs: 2_000 };

export interface PatienceOptions {
  /** Infinity: as long as the session lasts. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** How long to sleep before the next look. @param options.attempt 1 before the first */
export function pauseMs(
  refusal: Refusal,
  { attempt, longestMs }: { readonly attempt: number; readonly longestMs: number },
  { clock, random }: Runtime,
): number {
  const until = refusal.kind === 'delayed' ? refusal.until : refusal.by.until;
  const knownMs = until === null ? Infinity : Math.max(0, until - clock.now());
  const spreadMs = Math.min(SPREAD.maxMs, Math.max(SPREAD.minMs, knownMs * SPREAD.share));
  const thenMs = Math.ceil(knownMs + random.next() * spreadMs);
  if (refusal.kind === 'delayed') return thenMs;
  return Math.min(thenMs, fullJitterMs(random, { baseMs: longestMs / GROWTH, capMs: longestMs }, attempt));
}

/** One caller's patience: ends with its deadline, its signal, or its session. */
export class Patience {
  readonly #options: PatienceOptions;
  readonly #session: SessionHolder;
  readonly #runtime: Runtime;
  readonly #startedAt: number;
  readonly #over = new AbortController();
  readonly #finished = new AbortController();

  constructor(options: PatienceOptions, session: SessionHolder, runtime: Runtime) {
    this.#options = options;
    this.#session = session;
    this.#runtime = runtime;
    this.#startedAt = runtime.clock.monotonic();
    for (const signal of [options.signal, session.signal]) {
      if (signal?.aborted === true) this.#over.abort();
      signal?.addEventListener('abort', this.#abort, { once: true, signal: this.#finished.signal });
    }
    if (Number.isFinite(options.waitMs))
      void runtime.clock.sleep(options.waitMs, this.#finished.signal).then(this.#abort);
  }

  /** Aborts when there is nothing left to wait for. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** After every wait: whether to go on. @throws when the caller's signal or its session says no */
  ensure(refusal?: Refusal): void {
    this.#session.ensureBelief();
    this.#options.signal?.throwIfAborted();
    if (refusal === undefined || !this.#over.signal.aborted) return;
    throw new LockUnavailableError(refusal, this.#runtime.clock.monotonic() - this.#startedAt);
  }

  /** A store that is away is waited for like a holder. @throws the error when it is another one, or patience is at its end */
  bear(error: unknown): void {
    if (error instanceof LeaseLostError || !(error instanceof StoreUnavailableError)) throw error;
    this.ensure();
    if (this.#over.signal.aborted) throw error;
  }

  /** No timer and no listener stays behind. */
  end(): void {
    this.#finished.abort();
  }

  readonly #abort = (): void => {
    this.#over.abort();
  };
}
