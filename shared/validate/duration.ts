import ms from 'ms';
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
/** What the library `ms` reads. */
type DurationText = `${number}` | `${number}${UnitAnyCase}` | `${number} ${UnitAnyCase}`;

/** Milliseconds, or a text such as `'30s'`, `'2m'`, `'1.5h'`, `'7d'`. */
export type Duration = number | DurationText;

/** @throws ConfigurationError for anything that is not a finite span of zero or more */
export function durationMs(what: string, duration: Duration): number {
  const parsed = typeof duration === 'number' ? duration : parse(duration);
  if (parsed === undefined || !Number.isFinite(parsed) || parsed < 0)
    throw new ConfigurationError(
      `${what} = ${shown(duration)}: give milliseconds, or a text such as '30s', '2m' or '7d', zero or more`,
    );
  return Math.round(parsed);
}

function parse(text: DurationText): number | undefined {
  // The library answers NaN or undefined for text it cannot read, and throws for text that is empty or too long.
  try {
    return ms(text);
  } catch {
    return undefined;
  }
}
