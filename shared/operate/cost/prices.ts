/**
 * AWS prices in us-east-1, in dollars: on-demand list prices without free tiers, taxes and discounts.
 * Other regions differ by up to a half. To update a price, change it here, with the date.
 */
export interface Prices {
  readonly region: string;
  /** When the prices were last checked. */
  readonly asOf: string;
  readonly perMillionWriteUnits: number;
  readonly perMillionReadUnits: number;
  readonly perGbMonthOfStorage: number;
  readonly perMillionInvocations: number;
  readonly perGbSecond: Readonly<Record<Architecture, number>>;
}

export type Architecture = 'arm64' | 'x86_64';

/** @see https://aws.amazon.com/dynamodb/pricing/on-demand/ and https://aws.amazon.com/lambda/pricing/ */
export const PRICES: Prices = {
  region: 'us-east-1',
  asOf: '2026-08',
  // Halved on 1 November 2024.
  perMillionWriteUnits: 0.625,
  perMillionReadUnits: 0.125,
  perGbMonthOfStorage: 0.25,
  perMillionInvocations: 0.2,
  perGbSecond: { arm64: 0.000_013_333_4, x86_64: 0.000_016_666_7 },
};
