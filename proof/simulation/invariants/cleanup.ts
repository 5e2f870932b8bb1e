/**
 * I25 fenced clean-up: TTL deletes only rows that have not been used for days, of every kind.
 * TTL names no version, so its fence is time: beyond any lease, any late request, and any clock that the protocol admits.
 */
import type { Family } from './rule.ts';

/** Less than every retention of the schema, and more than anything can be late. */
const LEAST_UNUSED_MS = 86_400_000;

/**
 * A bucket's row goes a day after it is full, for without a row it is full as well: a clock that is wrong by more than a day may be early.
 */
const isBucket = (row: string): boolean => row.startsWith('ratelimit#');

export const cleanup: Family = (assumptions, report) => {
  const writtenAt = new Map<string, number>();
  return {
    on(event) {
      if (event.kind === 'applied') writtenAt.set(event.row, event.at);
      if (event.kind !== 'swept') return;
      if (isBucket(event.row) && !assumptions.clocksHold) return;
      const unusedMs = event.at - (writtenAt.get(event.row) ?? -Infinity);
      if (unusedMs < LEAST_UNUSED_MS) report('I25', event.row, `swept ${unusedMs.toFixed(0)} ms after it was written`);
    },
  };
};
