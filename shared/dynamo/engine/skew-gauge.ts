/**
 * Measures this machine's clock against the service's, by the Date header that every response carries.
 *
 * The header is cut to whole seconds, and the response was made at some moment between sending and receiving,
 * so one response proves a difference only beyond a second and the request's own duration; what it cannot prove counts as none.
 */
import type { SkewGauge } from '../../core/lease/skew.ts';

export interface ResponseTiming {
  /** The Date header, epoch milliseconds. */
  readonly serverDate: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

export class DateHeaderGauge implements SkewGauge {
  #provenMs = 0;

  /** The latest response counts: a clock that was corrected is a good clock. */
  observe({ serverDate, sentAt, receivedAt }: ResponseTiming): void {
    const aheadByAtLeastMs = sentAt - (serverDate + 1_000);
    const behindByAtLeastMs = serverDate - receivedAt;
    this.#provenMs = Math.max(0, aheadByAtLeastMs, behindByAtLeastMs);
  }

  provenSkewMs(): number {
    return this.#provenMs;
  }
}
