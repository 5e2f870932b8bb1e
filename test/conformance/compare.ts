/**
 * The long comparison, run by hand or at night: `node test/conformance/compare.ts --operations 100000 [--seed 1]`.
 *
 * Prints the compared operations, the used entries of the allow-list, and the number of unexplained differences, which must be 0.
 */
import { Command, Option } from 'commander';
import { wholeNumber } from '../../cli/arguments.ts';
import { startTestEngines } from '../support/engines.ts';
import type { ComparedDriver } from '../support/dynamo-programs/compare-stores.ts';
import { compareStores } from '../support/dynamo-programs/compare-stores.ts';

/** The limit of the program generator. */
const MAX_SEED = 2 ** 31 - 1;

const { operations, seed, driver, json } = new Command('node test/conformance/compare.ts')
  .description('Runs random programs on the simulated DynamoDB and on the engines, and compares every answer.')
  .option('--operations <n>', 'how many to compare, at least', wholeNumber(1), 100_000)
  .option('--seed <n>', 'which programs', wholeNumber(0, MAX_SEED), 1)
  .addOption(
    new Option('--driver <name>', 'what sends to the engines').choices(['wire', 'client', 'fetch']).default('wire'),
  )
  .option('--json', 'what was compared as one JSON object, as the last line', false)
  .parse()
  .opts<{
    readonly operations: number;
    readonly seed: number;
    readonly driver: ComparedDriver;
    readonly json: boolean;
  }>();

const engines = await startTestEngines({ required: true });
try {
  const report = await compareStores({
    endpoints: {
      'dynamodb-local': engines.dynamodbLocal?.endpoint ?? null,
      embedded: engines.embedded?.endpoint ?? null,
    },
    operations,
    seed,
    driver,
  });
  process.stdout.write(`${report.text}\n`);
  if (json) {
    const { tally, unexplained } = report;
    const allowed = Object.fromEntries(tally.allowed);
    console.log(JSON.stringify({ seed, driver, compared: tally.compared, allowed, unexplained: unexplained ?? null }));
  }
  process.exitCode = report.unexplained === undefined ? 0 : 1;
} finally {
  await engines.stop();
}
