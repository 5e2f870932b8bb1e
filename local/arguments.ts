/** Number parsers for our command lines. commander reports invalid values with the option's name. */
import { InvalidArgumentError } from 'commander';
import { messageOf } from '../shared/core/errors.ts';

/** A whole number of at least `min`; `1e6` and `1_000_000` are welcome. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = numberOf(text);
    if (!Number.isSafeInteger(value) || value < min || value > max)
      throw new InvalidArgumentError(
        max === Number.MAX_SAFE_INTEGER
          ? `must be a whole number of ${min} or more`
          : `must be a whole number from ${min} to ${max}`,
      );
    return value;
  };
}

/** NaN if the text is not a number. */
export function numberOf(text: string): number {
  // `Number` alone would read '' and ' ' as 0, and '0x10' as 16.
  return /^\d[\d_]*(?:\.\d+)?(?:e\d{1,2})?$/i.test(text) ? Number(text.replaceAll('_', '')) : NaN;
}

/** Passes the product's refusal on to commander. */
export function checked<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
}
