/**
 * The long comparison, by hand or at night: `node test/conformance/compare.ts --operations 100000 [--seed 1]`.
 *
 * Prints what was compared, which entries of the allow-list were needed, and what is left unexplained, which must be 0.
 */
import { parseArgs } from 'node:util';
import { startTestEngines } from '../support/engines.ts';
import { compareStores } from '../support/dynamo-programs/compare-stores.ts';

const { values } = parseArgs({
  options: { operations: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
});

const engines = await startTestEngines({
  required: true,
  tell: (line) => {
    process.stderr.write(`${line}\n`);
  },
});
try {
  const report = await compareStores({
    endpoints: {
      'dynamodb-local': engines.dynamodbLocal?.endpoint ?? null,
      embedded: engines.embedded?.endpoint ?? null,
    },
    operations: Number(values.operations),
    seed: Number(values.seed),
  });
  process.stdout.write(`${report.text}\n`);
  process.exitCode = report.unexplained === undefined ? 0 : 1;
} finally {
  await engines.stop();
}
