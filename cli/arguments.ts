/** Parsers of options and operands. commander reports invalid values with the option's name. */
import { parseUnchanged } from '../shared/core/json.ts';
import { InvalidArgumentError, Option } from 'commander';
import { ConfigurationError, messageOf } from '../shared/core/errors.ts';
import type { Duration } from '../shared/core/validate/duration.ts';
import { durationMs } from '../shared/core/validate/duration.ts';
import { validName } from '../shared/core/validate/options.ts';
import type { When } from '../shared/core/validate/moment.ts';
import { momentOf, whenMs } from '../shared/core/validate/moment.ts';
import { checked, numberOf, wholeNumber } from '../local/arguments.ts';
import { span } from './output.ts';

export { wholeNumber };

/** `30s`, `2m`. A plain number is refused, because people mean seconds and programs mean milliseconds. */
function spanMs(text: string): number {
  if (Number(text) > 0) throw new InvalidArgumentError(`must have a unit, such as ${text}s or ${text}ms`);
  return spanOrMs(text);
}

/** The same, or a number of milliseconds: for an option whose variable of the environment holds one. */
export function spanOrMs(text: string): number {
  return checked(() => durationMs('the value', text as Duration));
}

/** Creates an option for a duration, whose default is shown as a duration. */
export function spanOption(flags: string, description: string, defaultMs?: number): Option {
  const option = new Option(flags, description).argParser(spanMs);
  return defaultMs === undefined ? option : option.default(defaultMs, span(defaultMs));
}

const MAX_PORT = 65_535;

/** The port of DynamoDB Local and similar emulators, so that other terminals find it. */
export const DEFAULT_ENGINE_PORT = 8_000;

export function portOption(defaultPort: number, flag = '--port', what = 'where to listen'): Option {
  return new Option(`${flag} <n>`, `${what} (0: any that is free)`)
    .argParser(wholeNumber(0, MAX_PORT))
    .default(defaultPort);
}

/** `10m`, or a time in ISO 8601 with its zone. */
export function when(text: string): When {
  checked(() => whenMs('the value', text as When, 0));
  return text as When;
}

/** A time in ISO 8601 with its zone. */
export function time(text: string): Date {
  return checked(() => momentOf(text));
}

/** A name in the protocol's sense: a key, a queue, an id. */
export function name(text: string): string {
  return checked(() => validName('the value', text));
}

/** A table's name as DynamoDB accepts it, or its ARN, for a table of another account. */
export function tableName(text: string): string {
  if (/^[\w.-]{3,255}$/.test(text) || /^arn:[\w-]+:dynamodb:[\w-]*:\d*:table\/[\w.-]{3,255}$/.test(text)) return text;
  throw new InvalidArgumentError('must be 3 to 255 letters, digits, dots, hyphens and underscores, or an ARN');
}

export function regionName(text: string): string {
  if (/^[a-z\d]+(?:-[a-z\d]+)*$/i.test(text)) return text;
  throw new InvalidArgumentError('must be the name of a region, such as eu-west-1');
}

/** For an option that may be given only once, because commander would silently keep the last value. @param why the reason */
export function givenOnce<T>(parse: (text: string) => T, why: string): (text: string, before?: T) => T {
  return (text, before) => {
    if (before !== undefined) throw new InvalidArgumentError(`must be given once: ${why}`);
    return parse(text);
  };
}

/** A number that is at least `min`. */
export function amount(min: number): (text: string) => number {
  return (text) => {
    const value = numberOf(text);
    if (!(value >= min) || !Number.isFinite(value))
      throw new InvalidArgumentError(`must be a number of ${min} or more`);
    return value;
  };
}

/** Parses an operand as JSON; null if it is absent. @throws ConfigurationError */
export function jsonInput(input: string | undefined): unknown {
  try {
    return input === undefined ? null : parseUnchanged(input);
  } catch (cause) {
    throw new ConfigurationError(`the input is not JSON: ${messageOf(cause)}; a text is given as '"text"'`, { cause });
  }
}
