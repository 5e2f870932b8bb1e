import { ConfigurationError, shown } from '../errors.ts';
import type { Duration } from './duration.ts';
import { durationMs } from './duration.ts';

/** The last moment of the year 9999. A later time is probably in the wrong unit. */
export const MAX_EPOCH_MS = 253_402_300_799_999;

/** Returns a user's time in epoch milliseconds. @throws ConfigurationError */
export function validMoment(what: string, moment: number | Date): number {
  const at = moment instanceof Date ? moment.getTime() : moment;
  if (!Number.isFinite(at) || at < 0 || at > MAX_EPOCH_MS)
    throw new ConfigurationError(`${what} = ${shown(moment)}: must be a Date, or milliseconds since 1970`);
  return Math.round(at);
}

/** Returns a time after another by a duration. @throws ConfigurationError when it is beyond all dates */
export function laterBy(what: string, from: number, span: Duration): number {
  const at = from + durationMs(what, span);
  if (at > MAX_EPOCH_MS)
    throw new ConfigurationError(`${what} = ${shown(span)} ends after the year 9999: pass a shorter time`);
  return at;
}
