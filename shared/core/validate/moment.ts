import { ConfigurationError, shown } from '../errors.ts';
import type { Duration, SpanText } from './duration.ts';
import { durationMs, spanMs } from './duration.ts';

/** The last moment of the year 9999. A later time is probably in the wrong unit. */
export const MAX_EPOCH_MS = 253_402_300_799_999;

/** The year 2000. An earlier time is probably in seconds. */
export const MIN_EPOCH_MS = 946_684_800_000;

/** A moment as text: ISO 8601 with a zone, such as `2027-01-31T08:00:00Z`. */
export type MomentText = `${number}-${number}-${number}T${string}`;

/** A span with its unit, such as `'10m'`, or a moment. Numbers are neither, because nobody could say which. */
export type When = SpanText | Date | MomentText;

/** Returns a user's time in epoch milliseconds. @throws ConfigurationError */
export function validMoment(what: string, moment: number | Date): number {
  const at = moment instanceof Date ? moment.getTime() : moment;
  if (!Number.isFinite(at) || at < 0 || at > MAX_EPOCH_MS)
    throw new ConfigurationError(`${what} = ${shown(moment)}: must be a Date, or milliseconds since 1970`);
  if (at < MIN_EPOCH_MS)
    throw new ConfigurationError(
      `${what} = ${shown(moment)} is before the year 2000: pass milliseconds since 1970; of seconds, × 1000`,
    );
  return Math.round(at);
}

/** Returns a time after another by a duration. @throws ConfigurationError when it is beyond all dates */
export function laterBy(what: string, from: number, span: Duration): number {
  const at = from + durationMs(what, span);
  if (at > MAX_EPOCH_MS)
    throw new ConfigurationError(`${what} = ${shown(span)} ends after the year 9999: pass a shorter time`);
  return at;
}

/** Returns the moment in epoch milliseconds. @param from where a span begins @throws ConfigurationError */
export function whenMs(what: string, when: When, from: number): number {
  if (when instanceof Date) return validMoment(what, when);
  if (spanMs(when) !== undefined) return laterBy(what, from, when as SpanText);
  if (typeof when === 'string' && /^\d{4}-\d/.test(when)) return validMoment(what, momentOf(when));
  throw new ConfigurationError(`${what} = ${shown(when)}${whatToWrite(when)}`);
}

function whatToWrite(when: unknown): string {
  const isText = typeof when === 'string' && when.trim() !== '';
  const number = typeof when === 'number' || isText ? Number(when) : NaN;
  if (!(number >= 0) || number === Infinity) return `: must be ${FORMS}`;
  const ms = number * 1_000 < MAX_EPOCH_MS && number * 1_000 >= MIN_EPOCH_MS ? number * 1_000 : number;
  if (ms < MIN_EPOCH_MS || ms > MAX_EPOCH_MS) return ` has no unit: write '${number}s' or '${number}ms'`;
  return ` has no unit: for that moment, pass new Date(${ms}), or '${new Date(ms).toISOString()}'`;
}

const FORMS = "a text with a unit such as '10m', a Date, or a time with its zone such as 2027-01-31T08:00:00Z";

const ISO_8601 = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:\d\d)?$/;

/** Parses ISO 8601 with a zone: a text without one would mean another moment on another machine. @throws ConfigurationError */
export function momentOf(text: string): Date {
  const [day = '', time] = text.split('T');
  const isIso = ISO_8601.test(text);
  if (isIso && !/Z|[+-]\d\d:/.test(text))
    throw new ConfigurationError(
      `${JSON.stringify(text)} has no zone: write ${day}T${time ?? '00:00'}Z, or an offset such as +01:00`,
    );
  const at = new Date(text);
  // `Date` also accepts many other formats, and reads the 31st of a short month as a day of the next month.
  if (!isIso || Number.isNaN(at.getTime()) || !new Date(`${day}T00:00Z`).toISOString().startsWith(day))
    throw new ConfigurationError(`${JSON.stringify(text)} is not a time: pass one such as 2027-01-31T08:00:00Z`);
  return at;
}
