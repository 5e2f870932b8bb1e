/** Policy of a definition's packs: their size, and how and when ended items are recorded. */
import type { Duration } from '../../core/validate/duration.ts';
import { givenMs } from '../../core/validate/duration.ts';
import { validOptions } from '../../core/validate/options.ts';
import { PACK_SIZE_LIMIT } from './pack.ts';
import { validWholeNumber } from '../../core/validate/whole-number.ts';

export interface BulkPolicyOptions {
  /** Items in a pack: 1 to 100. */
  readonly packSize?: number;
  /** How long the end of an item may stay unrecorded. After a crash, unrecorded items run again. Zero records each item separately. */
  readonly flushInterval?: Duration;
  /** Whether to keep the results of items, up to 256 bytes of JSON each, in the pack's row. Writes of the row then cost more. */
  readonly keepResults?: boolean;
}

export interface BulkPolicy {
  readonly packSize: number;
  readonly flushIntervalMs: number;
  readonly keepsResults: boolean;
}

/**
 * 16 tasks of 60 bytes fit into one write unit. With half a second, a crash repeats little work, and recording fast items costs very
 * little.
 */
export const DEFAULT_BULK: BulkPolicy = { packSize: 16, flushIntervalMs: 500, keepsResults: false };

/** @throws ConfigurationError */
export function bulkPolicy(what: string, options: BulkPolicyOptions = {}): BulkPolicy {
  const known = ['packSize', 'flushInterval', 'keepResults'] as const;
  const { packSize, flushInterval, keepResults } = validOptions(`${what}: bulk`, options, known);
  return {
    packSize: packSize === undefined ? DEFAULT_BULK.packSize : validPackSize(`${what}: bulk.packSize`, packSize),
    flushIntervalMs: givenMs(`${what}: bulk.flushInterval`, flushInterval) ?? DEFAULT_BULK.flushIntervalMs,
    keepsResults: keepResults ?? DEFAULT_BULK.keepsResults,
  };
}

/** @throws ConfigurationError */
export function validPackSize(what: string, packSize: number): number {
  return validWholeNumber(what, packSize, { min: 1, max: PACK_SIZE_LIMIT });
}
