import { ConfigurationError, shown } from '../errors.ts';

type Unit =
  | ('Years' | 'Year' | 'Yrs' | 'Yr' | 'Y')
  | ('Weeks' | 'Week' | 'W')
  | ('Days' | 'Day' | 'D')
  | ('Hours' | 'Hour' | 'Hrs' | 'Hr' | 'H')
  | ('Minutes' | 'Minute' | 'Mins' | 'Min' | 'M')
  | ('Seconds' | 'Second' | 'Secs' | 'Sec' | 's')
  | ('Milliseconds' | 'Millisecond' | 'Msecs' | 'Msec' | 'Ms');
type UnitAnyCase = Unit | Uppercase<Unit> | Lowercase<Unit>;
/** A number with its unit, such as `'30s'`. */
export type SpanText = `${number}${UnitAnyCase}` | `${number} ${UnitAnyCase}`;
export type DurationText = `${number}` | SpanText;

/** Milliseconds, or a text such as `'30s'`, `'2m'`, `'1.5h'`, `'7d'`. */
export type Duration = number | DurationText;

/** @throws ConfigurationError for anything that is not a finite span of zero or more */
export function durationMs(what: string, duration: Duration): number {
  const parsed = typeof duration === 'number' ? duration : parsedText(duration);
  if (parsed === undefined || !Number.isFinite(parsed) || parsed < 0)
    throw new ConfigurationError(
      `${what} = ${shown(duration)}: must be milliseconds, or a text such as '30s', '2m' or '7d', zero or more`,
    );
  return Math.round(parsed);
}

/** The same for an optional duration. */
export function givenMs(what: string, duration: Duration | undefined): number | undefined {
  return duration === undefined ? undefined : durationMs(what, duration);
}

/** Milliseconds of a text with a unit, or undefined for anything else. */
export function spanMs(text: unknown): number | undefined {
  const ms = typeof text === 'string' && /[a-z]$/i.test(text) ? parsedText(text) : undefined;
  return ms === undefined || ms < 0 ? undefined : Math.round(ms);
}

const TEXT =
  /^(-?(?:\d+(?:\.\d+)?|\.\d+)) *(ms|msecs?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?|y|yrs?|years?)?$/i;
/** Milliseconds by the first letter of a unit. A year has 365.25 days. */
const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_557_600_000 };

/** The units of the library `ms`, in its spelling. */
function parsedText(text: unknown): number | undefined {
  const [, count, unit = 'ms'] = (typeof text === 'string' ? TEXT.exec(text) : null) ?? [];
  if (count === undefined) return undefined;
  const isMs = /^m(s|il)/i.test(unit);
  return Number(count) * (isMs ? 1 : UNITS_MS[unit.charAt(0).toLowerCase() as keyof typeof UNITS_MS]);
}
