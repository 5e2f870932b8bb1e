import { ClockSkewError } from '../errors.ts';

/**
 * The proven difference between this machine's clock and the store's.
 * The store has the only clock that all processes can see, and the protocol assumes that each process's clock is close enough to it.
 */
export interface SkewGauge {
  /** A lower bound on the difference, in milliseconds. 0: no difference is proven. */
  provenSkewMs(): number;
}

/** For stores without a clock, and for simulations that break clocks on purpose. */
export const noSkewGauge: SkewGauge = { provenSkewMs: () => 0 };

/**
 * A takeover depends on comparing clocks. If two machines each differ from the store by at most half of the clock bound, they differ from
 * each other by at most the clock bound.
 * @param refusing the refused operation, for the message
 * @throws ClockSkewError when ours is proven wrong by more than half of the bound
 */
export function ensureClockWithin(gauge: SkewGauge, maxClockSkewMs: number, refusing?: string): void {
  const skewMs = gauge.provenSkewMs();
  if (skewMs > maxClockSkewMs / 2) throw new ClockSkewError(skewMs, maxClockSkewMs, refusing);
}
