/** The scenes of the fan-out: what arrives when, and which figures are wanted. */
import type { Priority } from '../../shared/tasks/task/task.ts';

export interface Arrival {
  /** Ms after the scene's begin. */
  readonly at: number;
  readonly ms: number;
  readonly key?: { readonly key: string; readonly limit: number };
  readonly tenant?: string;
  readonly priority?: Priority;
  /** How many tasks of 2 s it enqueues when it ends. */
  readonly children?: number;
}

/** Upper limits, each for the median of the seeds. */
interface WantedFigures {
  readonly lastS?: number;
  readonly lastOfBound?: number;
  /** On top of `lastOfBound`. */
  readonly plusS?: number;
  readonly p99S?: number;
  readonly billedS?: number;
  readonly p99OfBound?: number;
  readonly billedOfBound?: number;
  /** Of the least that any fleet is billed for this work: see `bound.ts`. */
  readonly billedOfLeast?: number;
  readonly starts?: number;
}

export interface Scene {
  readonly name: string;
  readonly maxWorkers?: number;
  readonly arrivals: (random: () => number) => readonly Arrival[];
  /** Figures count from here on; earlier ones are history. */
  readonly from?: number;
  /** Slots that the tasks can use at most, if that is less than the fleet has. */
  readonly limit?: number;
  /** A worker outside Lambda takes the tasks before anything of the deployment polls. */
  readonly isHeldElsewhere?: boolean;
  readonly wanted?: WantedFigures;
}

export const CHILD_MS = 2_000;
const SECOND = 1_000;
const MINUTE = 60_000;

function burst(count: number, ms: number, at = 0, more: Partial<Arrival> = {}): Arrival[] {
  return Array.from({ length: count }, () => ({ ...more, at, ms }));
}

function each(everyMs: number, untilMs: number, make: (at: number) => readonly Arrival[]): Arrival[] {
  return Array.from({ length: Math.ceil(untilMs / everyMs) }, (_, nth) => make(nth * everyMs)).flat();
}

/** Arrivals at random, so many a second on average. */
function trickle(
  perSecond: (at: number) => number,
  untilMs: number,
  ms: (at: number) => number,
  random: () => number,
): readonly Arrival[] {
  const found: Arrival[] = [];
  for (let at = 0; at < untilMs;) {
    at += (-Math.log(1 - random()) * SECOND) / perSecond(at);
    found.push({ at, ms: ms(at) });
  }
  return found;
}

const ALL = { lastOfBound: 1.5, plusS: 5 };

export const SCENES: readonly Scene[] = [
  { name: '100 × 5 min', arrivals: () => burst(100, 5 * MINUTE), wanted: { lastS: 10, billedOfBound: 1.05 } },
  { name: '80 × 10 min', arrivals: () => burst(80, 10 * MINUTE), wanted: { lastS: 6, billedOfBound: 1.05 } },
  { name: '10,000 × 200 ms', arrivals: () => burst(10_000, 200), wanted: { lastOfBound: 1.4, billedOfBound: 1.25 } },
  {
    name: '1,000 × 5 ms a minute',
    arrivals: () => each(MINUTE, 10 * MINUTE, (at) => burst(1_000, 5, at + 20 * SECOND)),
    wanted: { billedS: 40, lastS: 3 },
  },
  {
    name: '30 × 1 min each 10 min',
    arrivals: () => each(10 * MINUTE, 40 * MINUTE, (at) => burst(30, MINUTE, at)),
    wanted: { lastS: 4, billedOfBound: 1.05 },
  },
  {
    name: 'mix of 95 % 20 ms and 5 % 2 min, 10 a second',
    arrivals: (random) =>
      trickle(
        () => 10,
        15 * MINUTE,
        () => (random() < 0.05 ? 2 * MINUTE : 20),
        random,
      ),
    wanted: { p99S: 7, billedOfBound: 1.25 },
  },
  {
    name: '500 children of one parent',
    arrivals: () => [{ at: 0, ms: SECOND, children: 500 }],
    wanted: { lastOfBound: 1.6 },
  },
  {
    name: 'one key, limit 1, 2,000 × 1 s',
    arrivals: () => burst(2_000, SECOND, 0, { key: { key: 'k', limit: 1 } }),
    limit: 1,
    wanted: { starts: 5 },
  },
  {
    name: '50 workers, 5,000 × 30 s',
    maxWorkers: 50,
    arrivals: () => burst(5_000, 30 * SECOND),
    wanted: { lastOfBound: 1.15 },
  },
  {
    name: '10 long ones, a short one each 20 s',
    arrivals: () => [
      ...burst(10, 12 * MINUTE),
      ...each(20 * SECOND, 10 * MINUTE, (at) => burst(1, SECOND, at + 30 * SECOND)),
    ],
    wanted: { lastS: 3 },
  },
  {
    name: 'misled: 5 ms for 5 min, then 100 × 5 min',
    arrivals: () => [
      ...each(MINUTE, 5 * MINUTE, (at) => burst(1_000, 5, at)),
      ...burst(100, 5 * MINUTE, 5 * MINUTE + 20 * SECOND),
    ],
    from: 5 * MINUTE,
    wanted: { lastS: 65 },
  },
  { name: 'one tenant × 1,000 × 1 s', arrivals: () => burst(1_000, SECOND, 0, { tenant: 'one' }), wanted: ALL },
  {
    name: '50 tenants × 20',
    arrivals: () => Array.from({ length: 50 }, (_, nth) => burst(20, SECOND, 0, { tenant: `tenant ${nth}` })).flat(),
    wanted: ALL,
  },
  {
    name: 'one key of limit 50 × 500 × 30 s',
    arrivals: () => burst(500, 30 * SECOND, 0, { key: { key: 'k', limit: 50 } }),
    limit: 50,
    wanted: ALL,
  },
  {
    name: 'three priorities',
    arrivals: () => (['high', 'normal', 'low'] as const).flatMap((priority) => burst(200, 5 * SECOND, 0, { priority })),
    wanted: ALL,
  },
  {
    name: '100 × 10 min held by a worker outside Lambda',
    arrivals: () => burst(100, 10 * MINUTE),
    limit: 100,
    isHeldElsewhere: true,
    wanted: { starts: 0 },
  },
  {
    name: 'one a second, from 50 ms to 60 s within 20 minutes',
    arrivals: (random) =>
      trickle(
        () => 1,
        20 * MINUTE,
        (at) => Math.round(50 * 1_200 ** (at / (20 * MINUTE))),
        random,
      ),
    wanted: { starts: 80, p99S: 0.9, billedOfLeast: 1.45 },
  },
  {
    name: '100 × 300 ms a minute beside 200 × 3 min an hour',
    arrivals: () => [
      ...each(MINUTE, 20 * MINUTE, (at) => burst(100, 300, at + 20 * SECOND)),
      ...burst(200, 3 * MINUTE, 5 * MINUTE + 30 * SECOND),
    ],
    wanted: { p99OfBound: 1.1 },
  },
  {
    name: '2,000 × 10 ms, one in 100 takes 10 min, the second time',
    from: 15 * MINUTE,
    arrivals: () =>
      [5 * SECOND, 15 * MINUTE + 5 * SECOND].flatMap((at) =>
        Array.from({ length: 2_000 }, (_, nth) => ({ at, ms: nth % 100 === 50 ? 10 * MINUTE : 10 })),
      ),
    wanted: { lastS: 10, billedOfBound: 2.05 },
  },
  // Without targets: the cost of the rule in a scene where it cannot help.
  {
    name: 'trickle 4 a second × 2 s',
    arrivals: (random) =>
      trickle(
        () => 4,
        10 * MINUTE,
        () => 2 * SECOND,
        random,
      ),
  },
  { name: '20 s, one a minute', arrivals: () => each(MINUTE, 20 * MINUTE, (at) => burst(1, 20 * SECOND, at + 20_000)) },
  {
    name: '2 a second × 1 s, 20 a second for 2 min',
    arrivals: (random) => {
      const perSecond = (at: number): number => (at > 4 * MINUTE && at < 6 * MINUTE ? 20 : 2);
      return trickle(perSecond, 10 * MINUTE, () => SECOND, random);
    },
  },
];
