/**
 * `npm run bench -- NAME`: side-by-side measurements, one file each.
 * Figures come as ratios and counts, for absolute times depend on the machine.
 */
import { Argument, Command } from 'commander';

const BENCHES = {
  'cold-start': () => import('./cold-start.ts'),
  consul: () => import('../consul/bench/bench.ts'),
  fanout: () => import('./fanout.ts'),
  idle: () => import('./idle.ts'),
  keys: () => import('./keys.ts'),
  locks: () => import('./locks.ts'),
  permits: () => import('./permits.ts'),
  queue: () => import('./queue.ts'),
  scale: () => import('./scale.ts'),
  start: () => import('./start.ts'),
  stuck: () => import('./stuck.ts'),
  units: () => import('./units.ts'),
} as const;

const NAMES = Object.keys(BENCHES) as (keyof typeof BENCHES)[];

await new Command('npm run bench --')
  .description('Measures side by side, and prints ratios and counts. Each takes options of its own: NAME --help.')
  .addArgument(new Argument('<name>', 'what to measure').choices(NAMES))
  .argument('[options...]', 'its options')
  .passThroughOptions()
  .allowUnknownOption()
  .action(async (name: keyof typeof BENCHES, options: readonly string[]) => {
    const { run } = await BENCHES[name]();
    process.exitCode = await run(options);
  })
  .parseAsync();
