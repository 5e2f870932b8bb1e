import type { StringValue } from 'ms';
import ms from 'ms';
import { ConfigurationError, shown } from '../errors.ts';

/** Milliseconds, or a text such as `'30s'`, `'2m'`, `'1.5h'`, `'7d'`. */
export type Duration = number | StringValue;

/** @throws ConfigurationError for anything that is not a finite span of zero or more */
export function durationMs(what: string, duration: Duration): number {
  const parsed = typeof duration === 'number' ? duration : parse(duration);
  if (parsed === undefined || !Number.isFinite(parsed) || parsed < 0)
    throw new ConfigurationError(
      `${what} = ${shown(duration)}: give milliseconds, or a text such as '30s', '2m' or '7d', zero or more`,
    );
  return Math.round(parsed);
}

function parse(text: StringValue): number | undefined {
  // The library answers NaN or undefined for text it cannot read, and throws for text that is empty or too long.
  try {
    return ms(text);
  } catch {
    return undefined;
  }
}
