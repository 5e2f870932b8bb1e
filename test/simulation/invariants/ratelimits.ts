/**
 * A rate limit (while clocks hold): in any span of time, no more tokens are given out than the bucket holds,
 * plus those that flow in during the span, plus those that flow in while clocks differ or while a take is under way.
 */
import type { Acknowledged } from '../history.ts';
import type { Family } from './rule.ts';

/** The one that the workload uses. */
export const BUCKET = { name: 'calls', rate: 4, per: 1_000, burst: 4 } as const;
export const BUCKET_KEYS = ['left', 'right'] as const;

/** A take as its caller saw it; a slow one proves nothing about when it happened. */
export interface Taking {
  readonly tokens: number;
  readonly tookMs: number;
}

const LONGEST_MS = 300;
const MS_PER_TOKEN = BUCKET.per / BUCKET.rate;

export const ratelimits: Family = (assumptions, report) => {
  /** By key: when a bucket without slack would have been empty. */
  const emptyAt = new Map<string, number>();
  const slackMs = assumptions.maxClockSkewMs + LONGEST_MS + assumptions.toleranceMs;

  function onTaken({ row, at, value = '{}', process }: Acknowledged): void {
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

  return {
    on(event) {
      if (assumptions.clocksHold && event.kind === 'acknowledged' && event.what === 'taken') onTaken(event);
    },
  };
};
