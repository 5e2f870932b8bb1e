/** Cron expressions: when they fall due, in the time of a zone. Nothing here reads a clock or starts a timer. */
import { Cron } from 'croner';
import { ConfigurationError, messageOf } from '../../core/errors.ts';

export interface CronTimes {
  /** Five fields, or six with seconds in front. */
  readonly cron: string;
  /** An IANA zone, such as `Europe/Berlin`: what is a quarter past two there, summer and winter. */
  readonly zone: string;
}

/** The first slot after a moment; undefined when there is none any more. */
export function slotAfter(times: CronTimes, after: number): number | undefined {
  return parsed(times).nextRun(new Date(after))?.getTime();
}

/** The last slot up to a moment, that moment included. */
export function slotUpTo(times: CronTimes, moment: number): number | undefined {
  // Runs before a moment are told to the second, so one is looked for that may be too late, and the one before it.
  return parsed(times)
    .previousRuns(2, new Date(moment + 1_000))
    .map((slot) => slot.getTime())
    .find((slot) => slot <= moment);
}

/** @throws ConfigurationError when the expression or the zone is none, or no slot ever comes */
export function validCron(what: string, times: CronTimes, now: number): CronTimes {
  const { cron, zone } = times;
  const fields = typeof cron === 'string' ? cron.trim().split(/\s+/) : [];
  if (fields.length < 5 || fields.length > 6)
    throw new ConfigurationError(
      `${what}: cron = ${JSON.stringify(cron)}: give five fields (minute hour day month weekday), or six with seconds in front`,
    );
  if (!isZone(zone))
    throw new ConfigurationError(
      `${what}: zone = ${JSON.stringify(zone)}: give an IANA time zone such as 'Europe/Berlin'`,
    );
  if (firstSlot(what, times, now) === undefined)
    throw new ConfigurationError(`${what}: cron = ${JSON.stringify(cron)} never comes: no such day exists`);
  return { cron: fields.join(' '), zone };
}

function firstSlot(what: string, times: CronTimes, now: number): number | undefined {
  try {
    return slotAfter(times, now);
  } catch (cause) {
    throw new ConfigurationError(`${what}: cron = ${JSON.stringify(times.cron)}: ${messageOf(cause)}`, { cause });
  }
}

function isZone(zone: unknown): zone is string {
  try {
    return typeof zone === 'string' && new Intl.DateTimeFormat('en', { timeZone: zone }).format(0) !== '';
  } catch {
    return false;
  }
}

function parsed({ cron, zone }: CronTimes): Cron {
  return new Cron(cron, { timezone: zone, mode: '5-or-6-parts' });
}
