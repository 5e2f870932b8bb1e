/**
 * Measures this machine's clock against the service's, by the Date header that every response carries.
 *
 * The header has whole seconds, and the service may have set it at any moment between sending and receiving.
 * So one response only proves a difference that exceeds a second plus the request's duration. A clock that is off by 0.6 s
 * is detected only by responses at the right part of a second, so the largest proof of the last minute counts.
 * If the wall clock and the monotonic clock disagree, the wall clock was corrected or the machine was suspended, and earlier proofs are
 * invalid.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { SkewGauge } from '../../core/lease/skew.ts';

export interface ResponseTiming {
  /** The Date header, epoch milliseconds. */
  readonly serverDate: number;
  readonly sentAt: number;
  readonly receivedAt: number;
  /** From sending to receiving, by the monotonic clock. */
  readonly tookMs: number;
}

/** How long a proof counts. */
const KEPT_MS = 60_000;
/** Larger than the difference between two consecutive clock reads, and smaller than a relevant proof. */
const DISAGREEMENT_MS = 100;

export class DateHeaderGauge implements SkewGauge {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Proofs of the last minute, oldest first, each larger than all later ones. */
  #proofs: readonly { readonly ms: number; readonly at: number }[] = [];
  /** Wall clock minus monotonic clock. */
  #gapMs = 0;

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
  }

  observe({ serverDate, sentAt, receivedAt, tookMs }: ResponseTiming): void {
    // Ahead of the service, or behind it.
    const ms = Math.max(sentAt - serverDate - 1_000, serverDate - receivedAt);
    if (ms <= 0 || Math.abs(receivedAt - sentAt - tookMs) > DISAGREEMENT_MS) return;
    this.provenSkewMs();
    this.#proofs = [...this.#proofs.filter((proof) => proof.ms > ms), { ms, at: this.#clock.monotonic() }];
  }

  provenSkewMs(): number {
    const monotonic = this.#clock.monotonic();
    const before = this.#gapMs;
    this.#gapMs = this.#clock.now() - monotonic;
    const keptMs = Math.abs(this.#gapMs - before) > DISAGREEMENT_MS ? 0 : KEPT_MS;
    this.#proofs = this.#proofs.filter(({ at }) => monotonic - at < keptMs);
    return this.#proofs[0]?.ms ?? 0;
  }
}
