/** Durations as Go writes them (`15s`, `1m30s`, `1.5h`, `100ms`), which is how Consul's API takes and gives them. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const UNITS_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
};
const TERM = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy;

/** Milliseconds, which may be negative; undefined for what Go does not read. */
export function parseGoDuration(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const digits = text.replace(/^[+-]/, '');
  if (digits === '0') return 0;
  let total = 0;
  let end = 0;
  for (const [term, amount = '', unit = ''] of digits.matchAll(TERM)) {
    total += Number(amount) * (UNITS_MS[unit] ?? NaN);
    end += term.length;
  }
  return end === 0 || end !== digits.length ? undefined : sign * total;
}

/** Formats a duration as Go does: the largest units first, without leading zeros. */
export function formatGoDuration(ms: number): string {
  if (ms === 0) return '0s';
  if (ms < SECOND_MS) return `${ms}ms`;
  const hours = Math.floor(ms / HOUR_MS);
  const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS);
  const seconds = (ms % MINUTE_MS) / SECOND_MS;
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}
