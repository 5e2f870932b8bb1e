/**
 * Chaos on real processes: the real handlers on the local platform,
 * against DynamoDB Local through a faulty network, while a nemesis kills and freezes them.
 *
 *   npm run chaos -- --minutes 10 --seed 7
 *
 * Two arms meet the same faults: one goes through what the library ships,
 * the other is the positive control and does as people do without it.
 * Exit codes: 0 the promises were kept and the run counts, 1 one was broken,
 * or the run did too little to count, 2 a setting or the engine is wrong.
 */
import { Command } from 'commander';
import { wholeNumber } from '../../cli/arguments.ts';
import { startEngine } from '../../local/engine.ts';
import { engineOf, engineOption } from '../../local/engine-option.ts';
import { ConfigurationError } from '../../shared/core/errors.ts';
import { runChaos } from './run.ts';

const command = new Command('npm run chaos --')
  .description('Torments real workers and judges what became of their promises.')
  .option('--minutes <n>', 'how long', wholeNumber(1), 2)
  .option(
    '--seed <n>',
    'which faults; processes and networks have their own timing, so a run is alike, not equal',
    wholeNumber(0),
    1,
  )
  .addOption(engineOption().default('dynamodb-local'));

async function main(): Promise<number> {
  const { engine: kind, ...flags } = command
    .parse()
    .opts<{ readonly minutes: number; readonly seed: number; readonly engine: string }>();
  const engine = await startEngine(engineOf(kind));
  try {
    const result = await runChaos({ ...flags, endpoint: engine.endpoint });
    console.log(JSON.stringify({ ...flags, ...result }, undefined, 2));
    console.log(result.kept ? 'Nothing was lost, doubled or promised in vain.' : 'THE RUN FAILED: see above.');
    return result.kept && result.controlLosses > 0 ? 0 : 1;
  } finally {
    await engine.stop();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof ConfigurationError)) throw error;
  console.error(`error: ${error.message}`);
  process.exitCode = 2;
}
