/**
 * How many workers a queue gets, and their cost: scenes in simulated time, each compared with an omniscient bound.
 *
 * Latencies are modelled until there is evidence from AWS: see `bench/latencies.ts`. Exits with 1 if a figure misses its target:
 * the median of all seeds, or the worst seed at 1.5 times the target.
 */
import { Command, Option } from 'commander';
import { milliseconds, wholeNumber, wholeNumbers } from './arguments.ts';
import type { Conditions, Measured } from './fanout/measure.ts';
import { measure } from './fanout/measure.ts';
import type { Scene } from './fanout/scenes.ts';
import { SCENES } from './fanout/scenes.ts';
import { median, print, round } from './figures.ts';
import { LATENCIES, describeLatencies } from './latencies.ts';

interface Options {
  readonly scene?: string;
  readonly seeds: readonly number[];
  readonly wakes: Conditions['wakes'];
  readonly streamShards: number;
  readonly startWithin: number;
  readonly json?: boolean;
}

/** How much worse than the median the worst seed may be. */
const WORST = 1.5;
const TICK_S = 60;

export async function run(args: readonly string[]): Promise<number> {
  const options = new Command('npm run bench -- fanout')
    .option('--scene <text>', 'only scenes whose name contains it')
    .option('--seeds <list>', 'such as 1,2,3', wholeNumbers, [1, 2, 3, 4, 5])
    .addOption(
      new Option('--wakes <fate>', 'what becomes of wakes')
        .choices(['delivered', 'dropped', 'doubled'])
        .default('delivered'),
    )
    .option('--stream-shards <n>', "shards of the table's stream", wholeNumber(1), 1)
    .option('--start-within <span>', 'how soon the last task should begin', milliseconds, 10_000)
    .option('--json', 'print one JSON object as the last line')
    .parse([...args], { from: 'user' })
    .opts<Options>();
  const { seeds, startWithin: startWithinMs, wakes, streamShards } = options;
  const found: Record<string, object> = {};
  let isGood = true;
  for (const scene of SCENES.filter(({ name }) => name.includes(options.scene ?? ''))) {
    const runs: Measured[] = [];
    for (const seed of seeds) runs.push(await measure(scene, { startWithinMs, wakes, streamShards }, seed));
    const middle = medianOf(runs);
    const missed = missedBy(scene, runs, middle, { wakes, startWithinMs });
    isGood &&= missed.length === 0;
    const { lastS, p99S, billedS, boundLastS, boundP99S, boundBilledS, leastBilledS, starts } = middle;
    const figures = { lastS, boundLastS, p99S, boundP99S, billedS, boundBilledS, leastBilledS, starts };
    found[scene.name] = { ...figures, inVain: middle.inVain, again: middle.again, missed };
    if (options.json === true) console.error(JSON.stringify({ scene: scene.name, missed, runs }));
  }
  print({ scenes: found, seeds, wakes, streamShards, latencies: describeLatencies(LATENCIES) }, options.json);
  return isGood ? 0 : 1;
}

/** Returns the figures that miss their targets. */
function missedBy(
  { wanted }: Scene,
  runs: readonly Measured[],
  middle: Measured,
  { wakes, startWithinMs }: Pick<Conditions, 'wakes' | 'startWithinMs'>,
): readonly string[] {
  if (wanted === undefined) return [];
  if (wakes === 'dropped') {
    const limit = ({ boundLastS }: Measured): number => boundLastS + TICK_S + startWithinMs / 1_000;
    return runs.some((one) => one.lastS > limit(one)) ? ['last'] : [];
  }
  const { lastS, lastOfBound = Infinity, plusS = 0, p99S = Infinity, p99OfBound = Infinity } = wanted;
  const { billedS = Infinity, billedOfBound = Infinity, billedOfLeast = Infinity, starts } = wanted;
  const limits: readonly (readonly [string, keyof Measured, (bound: Measured) => number])[] = [
    ['last', 'lastS', ({ boundLastS }) => Math.min(lastS ?? Infinity, lastOfBound * boundLastS + plusS)],
    ['p99', 'p99S', ({ boundP99S }) => Math.min(p99S, p99OfBound * boundP99S)],
    ['billed', 'billedS', ({ boundBilledS }) => Math.min(billedS, billedOfBound * boundBilledS)],
    ['billed, of the least', 'billedS', ({ leastBilledS }) => billedOfLeast * leastBilledS],
    ['starts', 'starts', () => starts ?? Infinity],
  ];
  const isMissed = (figure: keyof Measured, limit: (bound: Measured) => number): boolean =>
    middle[figure] > limit(middle) || runs.some((one) => one[figure] > WORST * limit(one));
  return limits.filter(([, figure, limit]) => isMissed(figure, limit)).map(([name]) => name);
}

function medianOf(runs: readonly Measured[]): Measured {
  const figures = Object.keys(runs[0] ?? {}) as (keyof Measured)[];
  const middle = (figure: keyof Measured): number => round(median(runs.map((one) => one[figure])));
  return Object.fromEntries(figures.map((figure) => [figure, middle(figure)])) as unknown as Measured;
}
