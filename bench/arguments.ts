/** Options that benches share; what they refuse is said by commander, with the option's name. */
import { InvalidArgumentError, Option } from 'commander';

export type BenchEngine = 'embedded' | 'dynamodb-local';

export function engineOption(byDefault: BenchEngine = 'embedded'): Option {
  return new Option('--engine <kind>', 'which DynamoDB to start')
    .choices(['embedded', 'dynamodb-local'] satisfies BenchEngine[])
    .default(byDefault);
}

export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`give a whole number ${range}`);
  };
}

export function wholeNumbers(text: string): readonly number[] {
  return text.split(',').map(wholeNumber(1));
}
