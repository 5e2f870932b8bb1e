/** Policy of a definition's packs: their size, and when and how ended items are recorded. */
import type { Duration } from '../../core/validate/duration.ts';
import { givenMs } from '../../core/validate/duration.ts';
import { validOptions } from '../../core/validate/options.ts';
import { PACK_SIZE_LIMIT } from './pack.ts';
import { validWholeNumber } from '../../core/validate/whole-number.ts';

export interface BulkPolicyOptions {
  /** Items in a pack: 1 to 100. */
  readonly packSize?: number;
  /** How long the end of an item may stay unrecorded: after a crash, these items run again. Zero records each item by itself. */
  readonly flushInterval?: Duration;
  /** Keeps the results of items, up to 256 bytes of JSON each, in the pack's row, which then costs more to write. */
  readonly keepResults?: boolean;
}

export interface BulkPolicy {
  readonly packSize: number;
  readonly flushIntervalMs: number;
  readonly keepsResults: boolean;
}

/** 16 tasks of 60 bytes fit into one write unit. Half a second: a crash repeats little, and fast items cost next to nothing. */
export const DEFAULT_BULK: BulkPolicy = { packSize: 16, flushIntervalMs: 500, keepsResults: false };

/** @throws ConfigurationError */
export function bulkPolicy(what: string, options: BulkPolicyOptions = {}): BulkPolicy {
  const known = { packSize: true, flushInterval: true, keepResults: true } as const;
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
