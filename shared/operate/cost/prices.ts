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
  readonly asOf: string;
  readonly source: string;
}

export type Architecture = 'arm64' | 'x86_64';

export const NOT_LOOKED_UP = 'not looked up';
const LOOKED_UP = '2026-08';
const pricesOf = (page: string): string => `https://aws.amazon.com/${page}/pricing/`;
const [DYNAMODB, LAMBDA] = [`${pricesOf('dynamodb')}on-demand/`, pricesOf('lambda')];
const [CLOUDWATCH, STEP_FUNCTIONS] = [pricesOf('cloudwatch'), pricesOf('step-functions')];
/** If both architectures share one allowance, the estimate uses only one of them. */
const FREE_GB_SECONDS = 400_000;

const OF = {
  // Both halved on 1 November 2024.
  writes: price(0.625, 1e6, 'write units', 0, DYNAMODB, LOOKED_UP),
  reads: price(0.125, 1e6, 'read units', 0, DYNAMODB, LOOKED_UP),
  storage: price(0.25, 1, 'GB', 25, DYNAMODB, LOOKED_UP),
  backups: price(0.2, 1, 'GB', 0, DYNAMODB),
  invocations: price(0.2, 1e6, 'invocations', 1e6, LAMBDA, LOOKED_UP),
  arm64: price(13.3334, 1e6, 'GB-seconds', FREE_GB_SECONDS, LAMBDA, LOOKED_UP),
  x86_64: price(16.6667, 1e6, 'GB-seconds', FREE_GB_SECONDS, LAMBDA, LOOKED_UP),
  schedules: price(1, 1e6, 'invocations', 14e6, pricesOf('eventbridge')),
  metrics: price(0.3, 1, 'metrics', 10, CLOUDWATCH),
  alarms: price(0.1, 1, 'metrics', 10, CLOUDWATCH),
  dashboards: price(3, 1, 'dashboards', 3, CLOUDWATCH),
  logs: price(0.5, 1, 'GB', 5, CLOUDWATCH),
  traces: price(5, 1e6, 'traces', 100_000, pricesOf('xray')),
  messages: price(0.4, 1e6, 'requests', 1e6, pricesOf('sqs')),
  transitions: price(25, 1e6, 'transitions', 4_000, STEP_FUNCTIONS),
  expressRequests: price(1, 1e6, 'requests', 0, STEP_FUNCTIONS),
  expressCompute: price(16.67, 1e6, 'GB-seconds', 0, STEP_FUNCTIONS),
};

type PriceName = keyof typeof OF;

export const PRICES = { region: 'us-east-1', of: OF } as const;

function price(dollars: number, per: number, unit: string, free: number, source: string, asOf = NOT_LOOKED_UP): Price {
  return { dollars, per, unit, free, asOf, source };
}

/** The price of one unit. */
export function priceOf(name: PriceName): number {
  return OF[name].dollars / OF[name].per;
}

/** One line of a bill. */
export interface Part extends Sum {
  readonly what: string;
  readonly perMonth: number;
  readonly unit: string;
  /** Name of the price that applies. */
  readonly by: PriceName;
  /** The price of one unit. */
  readonly price: number;
}

export interface Sum {
  readonly dollars: number;
  /** The same after the free tier, which the lines of one price share. */
  readonly dollarsAfterFree: number;
}

/** A month's use of a priced item. */
export type Use = readonly [what: string, by: PriceName, perMonth: number];

/** Returns the bill for a month's use, as if the account had no other use. */
export function bill(uses: readonly Use[]): readonly Part[] {
  const used = new Map<PriceName, number>();
  for (const [, by, perMonth] of uses) used.set(by, (used.get(by) ?? 0) + perMonth);
  return uses.map(([what, by, perMonth]) => {
    const { unit, free } = OF[by];
    const all = used.get(by) ?? 0;
    const dollars = perMonth * priceOf(by);
    const dollarsAfterFree = all === 0 ? 0 : (dollars * Math.max(0, all - free)) / all;
    return { what, perMonth, unit, by, price: priceOf(by), dollars, dollarsAfterFree };
  });
}

/** The sum of a bill. */
export function sumOf(parts: readonly Sum[]): Sum {
  return {
    dollars: parts.reduce((sum, { dollars }) => sum + dollars, 0),
    dollarsAfterFree: parts.reduce((sum, { dollarsAfterFree }) => sum + dollarsAfterFree, 0),
  };
}
