/** Options that benches share; what they refuse is said by commander, with the option's name. */
import { Option } from 'commander';
import { wholeNumber } from '../local/arguments.ts';

export { wholeNumber };

export type BenchEngine = 'embedded' | 'dynamodb-local';

export function engineOption(byDefault: BenchEngine = 'embedded'): Option {
  return new Option('--engine <kind>', 'which DynamoDB to start')
    .choices(['embedded', 'dynamodb-local'] satisfies BenchEngine[])
    .default(byDefault);
}

export function wholeNumbers(text: string): readonly number[] {
  return text.split(',').map(wholeNumber(1));
}
