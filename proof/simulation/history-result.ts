/** The request, assumptions and results of a history. */
import type { HistoryEvent } from './history.ts';
import type { Assumptions, Nearest, Violation } from './invariants/rule.ts';
import type { Profile } from './profile.ts';
import { maxWorkersOf } from './workloads/chain.ts';
import { CROWD } from './workloads/full-keys.ts';
import { attemptTimeoutOf } from './workloads/worker-place.ts';
import { maxAttemptsOf, maxDeathsOf } from './workloads/task-code.ts';

export interface HistoryResult {
  readonly seed: bigint;
  readonly profile: Profile;
  readonly violations: readonly Violation[];
  readonly digest: string;
  readonly steps: number;
  readonly turns: number;
  readonly virtualMs: number;
  readonly requests: number;
  readonly accepted: number;
  /** Counts by event: faults, outcomes, settlements. */
  readonly seen: ReadonlyMap<string, number>;
  /** By rule with a bound. */
  readonly nearest: ReadonlyMap<string, Nearest>;
  /** Every event, if requested. */
  readonly history: readonly HistoryEvent[];
}

export interface HistoryOptions {
  readonly seed: bigint;
  readonly profile: Profile;
  readonly keepHistory?: boolean;
  /** Ends the history at the first violation, which is all that a search for one needs. */
  readonly stopAtViolation?: boolean;
  /** Ends the history as soon as one of these invariants is violated. */
  readonly stopAt?: readonly string[];
}

/** Bounds of cost apply to the shipped constants. */
const COSTS = ['LOAD', 'CREEP', 'CROWD', 'L16'];

export function unjudgedIn({ knobs, lone }: Profile): readonly string[] {
  return !lone && Object.keys(knobs).length > 0 ? COSTS : [];
}

function heldBackIn({ floodOf, floodTasks, fullKeys }: Profile): number {
  if (fullKeys) return CROWD;
  return floodOf === 'key' || floodOf === 'rate' ? floodTasks : 0;
}

export function assumptionsOf(profile: Profile): Assumptions {
  return {
    clocksHold: profile.clocksHold,
    readsAreFresh: profile.staleMs === 0,
    heldBack: heldBackIn(profile),
    workers: maxWorkersOf(profile),
    concurrency: profile.concurrency,
    shards: profile.shards + profile.strayShards,
    workersStay: profile.stays,
    overlap: profile.overlap,
    lists: profile.listing,
    ttlMs: profile.ttlMs,
    lockDelayMs: profile.lockDelayMs,
    maxClockSkewMs: profile.maxClockSkewMs,
    attemptTimeoutMs: attemptTimeoutOf(profile),
    maxAttempts: maxAttemptsOf,
    maxDeaths: maxDeathsOf,
    // A wall clock shows whole milliseconds, and is read on both sides.
    toleranceMs: 2,
  };
}
