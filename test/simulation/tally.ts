/** Adds up histories, and says whether a run did enough to count. */
import type { Violation } from './invariants/rule.ts';
import type { HistoryResult } from './world.ts';

export interface Failure {
  readonly seed: bigint;
  readonly violation: Violation;
}

/** What one core reports. */
export interface BatchMessage {
  readonly histories: number;
  readonly steps: number;
  readonly turns: number;
  readonly requests: number;
  readonly accepted: number;
  readonly virtualMs: number;
  /** Time of a core, which is what a machine with other work gives. */
  readonly coreMs: number;
  readonly seen: ReadonlyMap<string, number>;
  readonly failures: readonly Failure[];
}

export function emptyMessage(): BatchMessage {
  return {
    histories: 0,
    steps: 0,
    turns: 0,
    requests: 0,
    accepted: 0,
    virtualMs: 0,
    coreMs: 0,
    seen: new Map(),
    failures: [],
  };
}

/** The leap over all retention is not lived through, so it does not count as virtual time. */
const LEAP_MS = 40 * 86_400_000;

export function include(message: BatchMessage, result: HistoryResult, coreMs: number): BatchMessage {
  const [violation] = result.violations;
  const lived = result.virtualMs >= LEAP_MS ? result.virtualMs - LEAP_MS : result.virtualMs;
  return merge(message, {
    histories: 1,
    ...{ steps: result.steps, turns: result.turns, requests: result.requests, accepted: result.accepted },
    ...{ virtualMs: lived, coreMs, seen: result.seen },
    failures: violation === undefined ? [] : [{ seed: result.seed, violation }],
  });
}

function merge(one: BatchMessage, other: BatchMessage): BatchMessage {
  const seen = new Map(one.seen);
  for (const [what, count] of other.seen) seen.set(what, (seen.get(what) ?? 0) + count);
  return {
    histories: one.histories + other.histories,
    steps: one.steps + other.steps,
    turns: one.turns + other.turns,
    requests: one.requests + other.requests,
    accepted: one.accepted + other.accepted,
    virtualMs: one.virtualMs + other.virtualMs,
    coreMs: one.coreMs + other.coreMs,
    seen,
    failures: [...one.failures, ...other.failures],
  };
}

/** What a run of a thousand histories or more must have seen, each at least once: every fault, and every way to end. */
export const MUST_BE_SEEN: readonly string[] = [
  ...['answered', 'requestLost', 'replyLost', 'failedBefore', 'failedAfter', 'throttled', 'conflict'].map(
    (ending) => `request ${ending}`,
  ),
  ...[
    'request late',
    'request duplicated',
    'partition',
    'outage',
    'all frozen',
    'frozen',
    'frozen beyond the TTL',
    'clock stepped',
  ],
  ...[
    'killed at a port call',
    'stalled at a port call',
    'killed at a boundary',
    'stalled at a boundary',
    'process crashed',
    'process timed out',
  ],
  ...['environment cold', 'environment warm', 'row swept', 'read stale'],
  ...['done', 'retried', 'dead', 'released', 'snoozed', 'lost', 'unsettled'].map((settlement) => `task ${settlement}`),
  ...['worker takenOver', 'worker claimsRefused', 'worker buried', 'worker expired'],
  ...[
    'lock acquired',
    'lock held',
    'lock delayed',
    'lock lost',
    'lock released',
    'lock forced: released',
    'fence refused',
  ],
  ...['permit acquired', 'permit acquired in turn', 'permit full', 'permit waited for in vain', 'permit released'],
  ...[
    'permit lost',
    'permit evicted',
    'limit set',
    'limiter entered',
    'limiter full',
    'tokens taken',
    'tokens limited',
  ],
  ...['members added', 'members refused: the group is sealed', 'member done', 'member lost', 'no such member'],
  ...['wait ended: complete', 'wait ended: pending', 'batch enqueued', 'slots became tasks'],
  ...['tick dispatched', 'tick delivered again: nothing done'],
  ...['cancel: cancelled', 'cancel: requested', 'redrive: redriven', 'reschedule: rescheduled', 'paused'].map(
    (what) => `operator: ${what}`,
  ),
  ...['drained', 'handedBack', 'paused', 'sessionLost', 'storeUnavailable', 'locks used', 'coordinated'].map(
    (ended) => `invocation ${ended}`,
  ),
  ...['enqueued', 'enqueued again', 'enqueue tried again', 'enqueued with other input: refused'],
];

/** A history that accepts less is not looking at the protocol. */
const LEAST_ACCEPTED_PER_HISTORY = 250;
/** From here on everything must have been seen. */
const ENOUGH_HISTORIES = 1_000;

export class Tally {
  #total = emptyMessage();
  readonly #startedAt = performance.now();

  add(message: BatchMessage): void {
    this.#total = merge(this.#total, message);
  }

  get total(): BatchMessage {
    return this.#total;
  }

  get failures(): readonly Failure[] {
    return [...this.#total.failures].sort((one, other) => Number(one.seed - other.seed));
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  progress(): string {
    const { histories, failures, steps, coreMs } = this.#total;
    const seeds = failures.map(({ seed }) => seed).join(' ');
    return `${histories} histories, ${failures.length} violated${seeds === '' ? '' : ` (${seeds})`}, ${Math.round(steps / coreMs)} k steps/s/core, ${(this.elapsedMs / 1000).toFixed(0)} s`;
  }

  /** Why this run does not count, if so. */
  shortcomings(): readonly string[] {
    const { histories, accepted, seen, failures } = this.#total;
    if (histories === 0) return ['no history was run'];
    const found: string[] = [];
    const perHistory = accepted / histories;
    if (failures.length === 0 && perHistory < LEAST_ACCEPTED_PER_HISTORY)
      found.push(`${perHistory.toFixed(0)} accepted writes per history, fewer than ${LEAST_ACCEPTED_PER_HISTORY}`);
    if (histories >= ENOUGH_HISTORIES)
      for (const what of MUST_BE_SEEN) if (!seen.has(what)) found.push(`never seen: ${what}`);
    return found;
  }
}
