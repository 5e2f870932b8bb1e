/** How a definition's items are packed and recorded. */
import type { Duration } from '../validate/duration.ts';
import { durationMs } from '../validate/duration.ts';
import { validOptions } from '../validate/options.ts';
import { PAGE_SIZE_LIMIT } from './page.ts';
import { validWholeNumber } from '../validate/whole-number.ts';

export interface BulkPolicyOptions {
  /** Items in a page: 1 to 100. */
  readonly pageSize?: number;
  /** How long the end of an item may go unrecorded: what ended within it runs again after a crash. Zero records each item by itself. */
  readonly flushInterval?: Duration;
  /** Keeps what items return, up to 256 bytes of JSON each, in the page's row, which then costs more to write. */
  readonly keepResults?: boolean;
}

export interface BulkPolicy {
  readonly pageSize: number;
  readonly flushIntervalMs: number;
  readonly keepsResults: boolean;
}

/** 16 tasks of 60 bytes fit into one write unit. Half a second: a crash repeats little, and fast items cost next to nothing. */
export const DEFAULT_BULK: BulkPolicy = { pageSize: 16, flushIntervalMs: 500, keepsResults: false };

/** @throws ConfigurationError */
export function bulkPolicy(what: string, options: BulkPolicyOptions = {}): BulkPolicy {
  const known = { pageSize: true, flushInterval: true, keepResults: true } as const;
  const { pageSize, flushInterval, keepResults } = validOptions(`${what}: bulk`, options, known);
  return {
    pageSize: pageSize === undefined ? DEFAULT_BULK.pageSize : validPageSize(`${what}: bulk.pageSize`, pageSize),
    flushIntervalMs:
      flushInterval === undefined
        ? DEFAULT_BULK.flushIntervalMs
        : durationMs(`${what}: bulk.flushInterval`, flushInterval),
    keepsResults: keepResults ?? DEFAULT_BULK.keepsResults,
  };
}

/** @throws ConfigurationError */
export function validPageSize(what: string, pageSize: number): number {
  return validWholeNumber(what, pageSize, { min: 1, max: PAGE_SIZE_LIMIT });
}
