/**
 * A rate limit (while clocks hold): in any span of time, the bucket gives out at most its content,
 * plus the inflow during the span, plus the inflow while clocks differ or while a take is in flight.
 * Its row: a take leaves the bucket neither overdrawn nor fuller than its burst by the taker's own reading of the clock; it returns
 * no tokens, and counts once even if it is sent several times.
 * A take may reserve tokens that flow in later, as far as its request says; then its caller is not told so before their moment.
 */
import { rateLimitKey } from '../../../shared/dynamo/engine/keys.ts';
import type { Acknowledged, Applied } from '../history.ts';
import type { Family } from './rule.ts';
import { EPOCH_MS } from './sessions.ts';

/** The one that the workload uses. */
export const BUCKET = { name: 'calls', rate: 4, per: 1_000, burst: 4 } as const;
export const BUCKET_KEYS = ['left', 'right'] as const;

/** A take as its caller saw it; a slow one proves nothing about when it happened. */
export interface Taking {
  readonly tokens: number;
  readonly tookMs: number;
}

/** Those of the workload's one limit. */
const ROWS = rateLimitKey(BUCKET.name, '').pk;
const LONGEST_MS = 300;
const MS_PER_TOKEN = BUCKET.per / BUCKET.rate;

export const ratelimits: Family = (assumptions, report) => {
  /** By operation: the taker's reading of its clock, in true time. */
  const readAt = new Map<number, number>();
  /** By caller and key: the moments of the tokens that its takes wrote, and the number of its acknowledged takes. */
  const drawn = new Map<string, { readonly moments: number[]; told: number }>();
  /** By key: when a bucket without slack would have been empty. */
  const emptyAt = new Map<string, number>();
  const boundMs = assumptions.maxClockSkewMs / 2 + assumptions.toleranceMs;
  const slackMs = assumptions.maxClockSkewMs + LONGEST_MS + assumptions.toleranceMs;

  function drawnBy(process: string, row: string): { readonly moments: number[]; told: number } {
    const name = `${process} ${row}`;
    const found = drawn.get(name) ?? { moments: [], told: 0 };
    drawn.set(name, found);
    return found;
  }

  function onTaken({ row, at, value = '{}', process }: Acknowledged): void {
    const own = drawnBy(process, row);
    own.told++;
    if (own.moments.filter((moment) => moment <= at + boundMs).length < own.told)
      report('RATE', row, `${process} was told of ${own.told} takes before the tokens of so many had flown in`);
    const { tokens, tookMs } = JSON.parse(value) as Taking;
    if (tookMs > LONGEST_MS) return;
    const full = at - BUCKET.burst * MS_PER_TOKEN;
    const empty = Math.max(emptyAt.get(row) ?? full, full) + tokens * MS_PER_TOKEN;
    if (empty > at + slackMs)
      report(
        'RATE',
        row,
        `${process} was given ${tokens} tokens ${(empty - at - slackMs).toFixed(0)} ms before they had flown in`,
      );
    emptyAt.set(row, empty);
  }

  function onWritten({ row, before, after, operation, process, values }: Applied): void {
    if (after === undefined) return;
    const left = Number(after.emptyAt);
    drawnBy(process, row).moments.push(left - EPOCH_MS);
    if (before !== undefined && before.nonce === after.nonce)
      report('RATE', row, `a take of ${process} was counted twice`);
    if (before !== undefined && left <= Number(before.emptyAt))
      report('RATE', row, `a take of ${process} left more in the bucket than it found there`);
    const at = operation === undefined ? undefined : readAt.get(operation);
    if (!assumptions.clocksHold || at === undefined) return;
    // From a full bucket nothing is reserved.
    const enoughSince = Number(values?.[':enoughSince'] ?? 0);
    const reservedUntil = enoughSince + Number(values?.[':cost'] ?? 0) - EPOCH_MS;
    const overdrawnMs = left - EPOCH_MS - Math.max(at, reservedUntil) - boundMs;
    if (overdrawnMs > 0)
      report('RATE', row, `${process} overdrew the bucket by ${overdrawnMs.toFixed(0)} ms of its flow`);
    if (left - EPOCH_MS <= at - BUCKET.burst * MS_PER_TOKEN - boundMs)
      report('RATE', row, `a take of ${process} left more in the bucket than fits in`);
  }

  return {
    on(event) {
      if (event.kind === 'called' && event.row.startsWith(ROWS)) readAt.set(event.operation, event.anchoredAt);
      else if (event.kind === 'applied' && event.row.startsWith(ROWS)) onWritten(event);
      if (assumptions.clocksHold && event.kind === 'acknowledged' && event.what === 'taken') onTaken(event);
    },
  };
};
