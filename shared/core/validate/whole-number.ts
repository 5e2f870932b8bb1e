import { ConfigurationError, shown } from '../errors.ts';

/** Checks a number that a user gave, once, at the edge. @throws ConfigurationError */
export function validWholeNumber(
  what: string,
  value: unknown,
  { min, max = Number.MAX_SAFE_INTEGER }: { readonly min: number; readonly max?: number },
): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min || value > max) {
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new ConfigurationError(`${what} = ${shown(value)}: must be a whole number ${range}`);
  }
  return value;
}
