/**
 * AWS prices of one region in dollars: on-demand list prices without taxes and discounts, and the free tier of an account.
 *
 * Other regions differ by up to a half. An unverified price is marked as such, and the estimate marks every sum that uses it.
 */
interface Price {
  /** For `per` units. */
  readonly dollars: number;
  readonly per: number;
  readonly unit: string;
  /** Units per month in the permanent free tier of each account. 0: none. */
  readonly free: number;
  /** Month in which the price was read at its source. */
  readonly asOf: `${number}-${number}` | typeof NOT_LOOKED_UP;
  readonly source: string;
}

export type Architecture = 'arm64' | 'x86_64';

export interface Prices {
  readonly region: string;
  readonly of: Readonly<Record<PriceName, Price>>;
}

const DYNAMODB = 'https://aws.amazon.com/dynamodb/pricing/on-demand/';
const LAMBDA = 'https://aws.amazon.com/lambda/pricing/';
const SCHEDULER = 'https://aws.amazon.com/eventbridge/pricing/';
const CLOUDWATCH = 'https://aws.amazon.com/cloudwatch/pricing/';
const XRAY = 'https://aws.amazon.com/xray/pricing/';
const SQS = 'https://aws.amazon.com/sqs/pricing/';
const STEP_FUNCTIONS = 'https://aws.amazon.com/step-functions/pricing/';

export const NOT_LOOKED_UP = 'not looked up';
const LOOKED_UP = '2026-08';
/** If both architectures share one allowance, the estimate uses only one of them. */
const FREE_GB_SECONDS = 400_000;

const OF = {
  // Both halved on 1 November 2024.
  writes: { dollars: 0.625, per: 1e6, unit: 'write units', free: 0, asOf: LOOKED_UP, source: DYNAMODB },
  reads: { dollars: 0.125, per: 1e6, unit: 'read units', free: 0, asOf: LOOKED_UP, source: DYNAMODB },
  storage: { dollars: 0.25, per: 1, unit: 'GB', free: 25, asOf: LOOKED_UP, source: DYNAMODB },
  backups: { dollars: 0.2, per: 1, unit: 'GB', free: 0, asOf: NOT_LOOKED_UP, source: DYNAMODB },
  invocations: { dollars: 0.2, per: 1e6, unit: 'invocations', free: 1e6, asOf: LOOKED_UP, source: LAMBDA },
  arm64: { dollars: 13.3334, per: 1e6, unit: 'GB-seconds', free: FREE_GB_SECONDS, asOf: LOOKED_UP, source: LAMBDA },
  x86_64: { dollars: 16.6667, per: 1e6, unit: 'GB-seconds', free: FREE_GB_SECONDS, asOf: LOOKED_UP, source: LAMBDA },
  schedules: { dollars: 1, per: 1e6, unit: 'invocations', free: 14e6, asOf: NOT_LOOKED_UP, source: SCHEDULER },
  metrics: { dollars: 0.3, per: 1, unit: 'metrics', free: 10, asOf: NOT_LOOKED_UP, source: CLOUDWATCH },
  alarms: { dollars: 0.1, per: 1, unit: 'metrics', free: 10, asOf: NOT_LOOKED_UP, source: CLOUDWATCH },
  dashboards: { dollars: 3, per: 1, unit: 'dashboards', free: 3, asOf: NOT_LOOKED_UP, source: CLOUDWATCH },
  logs: { dollars: 0.5, per: 1, unit: 'GB', free: 5, asOf: NOT_LOOKED_UP, source: CLOUDWATCH },
  traces: { dollars: 5, per: 1e6, unit: 'traces', free: 100_000, asOf: NOT_LOOKED_UP, source: XRAY },
  messages: { dollars: 0.4, per: 1e6, unit: 'requests', free: 1e6, asOf: NOT_LOOKED_UP, source: SQS },
  transitions: {
    dollars: 25,
    per: 1e6,
    unit: 'transitions',
    free: 4_000,
    asOf: NOT_LOOKED_UP,
    source: STEP_FUNCTIONS,
  },
  expressRequests: { dollars: 1, per: 1e6, unit: 'requests', free: 0, asOf: NOT_LOOKED_UP, source: STEP_FUNCTIONS },
  expressCompute: {
    dollars: 16.67,
    per: 1e6,
    unit: 'GB-seconds',
    free: 0,
    asOf: NOT_LOOKED_UP,
    source: STEP_FUNCTIONS,
  },
} satisfies Readonly<Record<string, Price>>;

type PriceName = keyof typeof OF;

export const PRICES: Prices = { region: 'us-east-1', of: OF };

/** The price of one unit. */
export function priceOf(prices: Prices, name: PriceName): number {
  const { dollars, per } = prices.of[name];
  return dollars / per;
}

/** One line of a bill. */
export interface Part {
  readonly what: string;
  readonly perMonth: number;
  readonly unit: string;
  /** Name of the price that applies. */
  readonly by: PriceName;
  /** The price of one unit. */
  readonly price: number;
  readonly dollars: number;
  /** The same after the free tier, which the lines of one price share. */
  readonly dollarsAfterFree: number;
}

/** A month's use of a priced item. */
export type Use = readonly [what: string, by: PriceName, perMonth: number];

/** Returns the bill for a month's use, as if the account had no other use. */
export function bill(uses: readonly Use[], prices: Prices): readonly Part[] {
  const used = new Map<PriceName, number>();
  for (const [, by, perMonth] of uses) used.set(by, (used.get(by) ?? 0) + perMonth);
  return uses.map(([what, by, perMonth]) => {
    const { unit, free } = prices.of[by];
    const price = priceOf(prices, by);
    const all = used.get(by) ?? 0;
    const chargedShare = all === 0 ? 0 : Math.max(0, all - free) / all;
    const dollars = perMonth * price;
    return { what, perMonth, unit, by, price, dollars, dollarsAfterFree: dollars * chargedShare };
  });
}

/** The sum of a bill. */
export function sumOf(parts: readonly Part[]): Sum {
  return {
    dollars: parts.reduce((sum, { dollars }) => sum + dollars, 0),
    dollarsAfterFree: parts.reduce((sum, { dollarsAfterFree }) => sum + dollarsAfterFree, 0),
  };
}

export type Sum = Pick<Part, 'dollars' | 'dollarsAfterFree'>;
