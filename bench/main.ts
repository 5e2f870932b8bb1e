/**
 * `npm run bench -- NAME`: side-by-side measurements, one file each.
 * Figures come as ratios and counts, for absolute times depend on the machine. A satellite has its own, `bench.ts` of the folder `bench`
 * in its own.
 */
import { globSync } from 'node:fs';
import path from 'node:path';
import { Argument, Command } from 'commander';

interface Bench {
  run(options: readonly string[]): Promise<number>;
}

const ROOT = path.resolve(import.meta.dirname, '..');
const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  ...benchesOfSatellites(),
  'cold-start': () => import('./cold-start.ts'),
  crowd: () => import('./crowd.ts'),
  dev: () => import('./dev.ts'),
  durable: () => import('./durable.ts'),
  fanout: () => import('./fanout.ts'),
  feel: () => import('./feel.ts'),
  idle: () => import('./idle.ts'),
  keys: () => import('./keys.ts'),
  listing: () => import('./listing.ts'),
  locks: () => import('./locks.ts'),
  permits: () => import('./permits.ts'),
  queue: () => import('./queue.ts'),
  scale: () => import('./scale.ts'),
  start: () => import('./start.ts'),
  stuck: () => import('./stuck.ts'),
  units: () => import('./units.ts'),
};

const NAMES = Object.keys(BENCHES).sort();

await new Command('npm run bench --')
  .description('Measures side by side, and prints ratios and counts. Each takes options of its own: NAME --help.')
  .addArgument(new Argument('<name>', 'what to measure').choices(NAMES))
  .argument('[options...]', 'its options')
  .passThroughOptions()
  .allowUnknownOption()
  .action(async (name: string, options: readonly string[]) => {
    const bench = await BENCHES[name]?.();
    process.exitCode = await bench?.run(options);
  })
  .parseAsync();

function benchesOfSatellites(): Readonly<Record<string, () => Promise<Bench>>> {
  const files = globSync('*/bench/bench.ts', { cwd: ROOT });
  return Object.fromEntries(
    files.map((file) => [path.dirname(path.dirname(file)), async () => (await import(path.join(ROOT, file))) as Bench]),
  );
}
