/** The steps of a run, their sizes, and an upper bound of the price at the list prices of `shared/operate/cost/prices.ts`. */
import type { Use } from '../../shared/operate/cost/prices.ts';
import { bill, PRICES, sumOf } from '../../shared/operate/cost/prices.ts';
import type { Kill } from './settings.ts';

export interface Sizes {
  readonly tasks: number;
  readonly waves: number;
  /** One task in N ends its worker. */
  readonly killedOneIn: Readonly<Partial<Record<Kill, number>>>;
  /** Requests of this machine at a time. */
  readonly inFlight: number;
  readonly indexSamples: number;
  readonly streamSamples: number;
  readonly coldStarts: number;
  readonly warmStarts: number;
  readonly frozenSeconds: readonly number[];
  readonly requests: number;
  readonly requestsInFlight: number;
  readonly throttledPerSecond: number;
  readonly throttledSeconds: number;
}

export const FULL: Sizes = {
  tasks: 10_000,
  waves: 3,
  killedOneIn: { exit: 100, memory: 400, timeout: 400 },
  inFlight: 32,
  indexSamples: 500,
  streamSamples: 200,
  coldStarts: 20,
  warmStarts: 50,
  frozenSeconds: [60, 300],
  requests: 50_000,
  requestsInFlight: 32,
  throttledPerSecond: 1_500,
  throttledSeconds: 20,
};

export const LIMIT_DOLLARS = 1;
/** Time limit of all parts together. The rest of the quarter of an hour is for deployment and removal. */
export const MEASURING_MS = 9 * 60_000;

/** Units and seconds with room to spare: a task with a commit is 8 units, and each killed worker gives back nine others. */
const UNITS_PER_TASK = 10;
const READS_PER_TASK = 6;
const WORKERS = 20;
const WORKER_GB = 0.5;
const PROBE_GB = 1.75;

export function usesOf(sizes: Sizes): readonly Use[] {
  const { tasks, indexSamples, streamSamples, coldStarts, warmStarts, requests } = sizes;
  const writes =
    tasks * UNITS_PER_TASK +
    4 * indexSamples +
    3 * streamSamples +
    coldStarts +
    warmStarts +
    2 * sizes.throttledPerSecond * sizes.throttledSeconds;
  return [
    ['write units', 'writes', writes + 1_000],
    ['read units', 'reads', tasks * READS_PER_TASK + requests + 20_000],
    ['compute of workers and probes', 'arm64', (MEASURING_MS / 1_000) * (WORKERS * WORKER_GB + 2 * PROBE_GB)],
    ['invocations', 'invocations', 5_000],
    // CloudWatch bills each metric by the hour.
    ['metrics, for an hour', 'metrics', 24 / 720],
    ['logs', 'logs', 0.05],
  ];
}

export function dollarsOf(sizes: Sizes): number {
  return sumOf(bill(usesOf(sizes))).dollars;
}

export function planText(sizes: Sizes, stack: string, region: string): string {
  const parts = bill(usesOf(sizes));
  const n = (value: number): string => value.toLocaleString('en-US', { maximumSignificantDigits: 2 });
  return [
    `Plan, in ${region}, about 15 minutes:`,
    `  deploy the stack ${stack}: two tables, a queue with workers, waker and dispatcher, four functions that measure`,
    `  ${n(sizes.tasks)} tasks in ${sizes.waves} waves, some of which end their worker; ${n(sizes.requests)} requests; ${n(sizes.throttledPerSecond * sizes.throttledSeconds)} writes that are to be throttled`,
    '  write the evidence, and destroy the stack, whatever happens',
    `Price, before any free tier, at list prices of ${PRICES.region}:`,
    ...parts.map(({ what, dollars, perMonth }) => `  $${dollars.toFixed(3)}  ${what} (${n(perMonth)})`),
    `  $${dollarsOf(sizes).toFixed(2)}  together`,
    'The assets of the CDK, a few MB, stay in the bucket of its bootstrap stack.',
  ].join('\n');
}

/** Against an emulator: the same steps, small. */
export const REHEARSAL: Sizes = {
  tasks: 200,
  waves: 2,
  killedOneIn: { exit: 50 },
  inFlight: 1,
  indexSamples: 3,
  streamSamples: 3,
  coldStarts: 2,
  warmStarts: 2,
  frozenSeconds: [1],
  requests: 100,
  requestsInFlight: 1,
  throttledPerSecond: 10,
  throttledSeconds: 1,
};
