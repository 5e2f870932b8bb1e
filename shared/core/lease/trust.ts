/**
 * The trust window: how long a holder may trust its lease.
 *
 * The window opens at the moment *before* a create or renew was sent, because the store may have applied it at any later time,
 * and lasts the TTL minus a margin.
 * Two clocks must both agree: the wall clock may step back,
 * and the monotonic clock may stop while the machine is suspended.
 * No timer flips a flag: trust is computed when it is read,
 * so a thawed process finds its lease expired before any of its timers has run.
 */
import type { Clock } from '../runtime/clock.ts';

interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export interface TrustWindow {
  readonly opened: Moment;
  /** The TTL minus the holder's margin. Infinite for a session without TTL. */
  readonly durationMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
}

/** Remaining trust in milliseconds. Zero or less: the holder must stop. */
export function remainingTrustMs(window: TrustWindow, at: Moment): number {
  const elapsedMs = Math.max(at.wallMs - window.opened.wallMs, at.monotonicMs - window.opened.monotonicMs);
  return window.durationMs - elapsedMs;
}
