/** Parsers of options that only the project's own tools take. */
import { InvalidArgumentError } from 'commander';

/** A seed of 64 bits. */
export function seed(text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) throw new InvalidArgumentError('must be a whole number');
  return BigInt(text);
}

/** Parses a duration. */
export function minutes(text: string): number {
  const value = Number(text);
  if (!(Number.isFinite(value) && value > 0)) throw new InvalidArgumentError('must be a number above zero');
  return value;
}
