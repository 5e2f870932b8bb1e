/** Options shared by the benches. commander reports invalid values with the option's name. */
import { InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from '../local/arguments.ts';
import { messageOf } from '../shared/core/errors.ts';
import { durationMs } from '../shared/core/validate/duration.ts';

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

/** `5ms`, `1s`; 0 is welcome. */
export function milliseconds(text: string): number {
  try {
    return durationMs('it', text === '0' ? 0 : (text as Parameters<typeof durationMs>[1]));
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}
