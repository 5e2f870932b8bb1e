import { ClockSkewError } from '../errors.ts';

/**
 * How far this machine's clock is provably from the store's.
 * The store is the one clock that all processes see; two processes that are each within the bound of it are what the protocol assumes.
 */
export interface SkewGauge {
  /** A lower bound on the difference, in milliseconds: zero if none is proven. */
  provenSkewMs(): number;
}

/** For stores without a clock, and for simulations that break clocks on purpose. */
export const noSkewGauge: SkewGauge = { provenSkewMs: () => 0 };

/**
 * Taking over rests on comparing clocks. Two machines that are each within half of the bound of the store are within all of it.
 * @param refusing what is not done, for the message
 * @throws ClockSkewError when ours is proven wrong by more than half of the bound
 */
export function ensureClockWithin(gauge: SkewGauge, maxClockSkewMs: number, refusing?: string): void {
  const skewMs = gauge.provenSkewMs();
  if (skewMs > maxClockSkewMs / 2) throw new ClockSkewError(skewMs, maxClockSkewMs, refusing);
}
