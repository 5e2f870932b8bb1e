/**
 * Reads the fields of a cron expression, and refuses fields that are easily misunderstood.
 *
 * croner alone accepts EventBridge's six fields (minute hour day month weekday year) as seconds first, so a daily schedule would run
 * hourly. It also accepts `?` anywhere, and counts days and months from 0 in its messages.
 */
import { ConfigurationError } from '../../core/errors.ts';

/** EventBridge's own bound. Each tick reads every due expression, so its length is a cost. */
export const CRON_LIMIT_CHARACTERS = 256;
/** The longest IANA name has 32 characters. */
export const ZONE_LIMIT_CHARACTERS = 64;

const FIVE_FIELDS = 'five fields (minute hour day month weekday), or six with seconds in front';

/** Nicknames that other crons know. */
const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** From the last field to the first, because seconds may be absent. */
const FIELDS = [
  { name: 'weekday', min: 0, max: 7, names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] },
  {
    name: 'month',
    min: 1,
    max: 12,
    names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
  },
  { name: 'day', min: 1, max: 31, names: [] },
  { name: 'hour', min: 0, max: 23, names: [] },
  { name: 'minute', min: 0, max: 59, names: [] },
  { name: 'second', min: 0, max: 59, names: [] },
] as const;

/**
 * Returns the five or six fields.
 * @throws ConfigurationError that says what to write instead
 */
export function cronFields(what: string, cron: unknown): readonly string[] {
  const refuse = (why: string): never => {
    throw new ConfigurationError(`${what}: cron = ${JSON.stringify(cron)}: ${why}`);
  };
  if (typeof cron !== 'string') return refuse(`must be a text of ${FIVE_FIELDS}`);
  if (cron.length > CRON_LIMIT_CHARACTERS)
    throw new ConfigurationError(
      `${what}: cron = "${cron.slice(0, 40)}…" has ${cron.length} characters: at most ${CRON_LIMIT_CHARACTERS}`,
    );
  const text = cron.trim();
  const nickname = NICKNAMES[text.toLowerCase()];
  if (nickname !== undefined) return refuse(`write "${nickname}"`);
  const rate = /^rate\((\d+) (minute|hour|day)s?\)$/i.exec(text);
  if (rate !== null) return refuse(`a rate is EventBridge's${rateHint(Number(rate[1]), rate[2] ?? '')}`);
  const wrapped = /^cron\((.*)\)$/i.exec(text)?.[1];
  const fields = (wrapped ?? text).trim().split(/\s+/);
  const isEventBridge = fields.length === 6 && (wrapped !== undefined || fields[2] === '?' || fields[4] === '?');
  if (isEventBridge) return refuse(eventBridgeHint(fields));
  if (wrapped !== undefined || fields.length < 5 || fields.length > 6) return refuse(`must be ${FIVE_FIELDS}`);
  if (fields.some((field) => field.includes('?'))) return refuse('? has no meaning here; write *');
  for (const [at, { name, min, max, names }] of FIELDS.entries()) {
    const field = fields.at(-1 - at);
    if (field !== undefined) ensureInRange(field, { name, min, max, names }, refuse);
  }
  return fields;
}

/** Whether the field of hours is neither `*` nor a step, and does not name every hour. */
export function hasFixedHour(cron: string): boolean {
  const hours = cron.trim().split(/\s+/).at(-4) ?? '*';
  return !/[*/]/.test(hours) && !namesEveryHour(hours);
}

function namesEveryHour(hours: string): boolean {
  const named = new Set<number>();
  for (const part of hours.split(',')) {
    const [from = NaN, to = from] = part.split('-').map(Number);
    for (let hour = from; hour <= Math.min(to, 23); hour++) named.add(hour);
  }
  return named.size === 24;
}

/** EventBridge counts weekdays from Sunday = 1, cron from Sunday = 0. */
function eventBridgeHint(fields: readonly string[]): string {
  const [minute, hour, day, month, weekday = '*', year] = fields;
  const shifted = weekday.replaceAll(/(?<![#/\d])[1-7](?!\d)/g, (digit) => String(Number(digit) - 1));
  const same = [minute, hour, day, month, shifted].join(' ').replaceAll('?', '*');
  const hint = `these are EventBridge's six fields (minute hour day month weekday year); write "${same}"`;
  return year === '*' ? hint : `${hint}, and startAt and endAt in place of the year ${year ?? ''}`;
}

function rateHint(count: number, unit: string): string {
  const [every, field] = { minute: [60, '* * * *'], hour: [24, '* * *'], day: [1, ''] }[unit.toLowerCase()] as [
    number,
    string,
  ];
  if (count < 1 || every % count !== 0)
    return ', and no cron: its steps begin anew each hour and day, so name the times';
  if (field === '') return '; write "0 0 * * *"';
  const step = count === 1 ? '*' : count === every ? '0' : `*/${count}`;
  return `; write "${unit.toLowerCase() === 'hour' ? '0 ' : ''}${step} ${field}"`;
}

function ensureInRange(
  field: string,
  { name, min, max, names }: { name: string; min: number; max: number; names: readonly string[] },
  refuse: (why: string) => never,
): void {
  for (const part of field.split(',')) {
    const range = part.split(/[/#]/, 1)[0] ?? '';
    for (const word of range.match(/[A-Za-z]{4,}/g) ?? []) {
      const short = names.find((known) => word.toUpperCase().startsWith(known));
      if (short !== undefined) refuse(`${name} ${word}: write ${short}`);
    }
    for (const number of range.match(/^-\d+|\d+/g) ?? [])
      if (Number(number) < min || Number(number) > max) refuse(`${name} ${number}: must be ${min} to ${max}`);
  }
}
