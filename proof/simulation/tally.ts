/** Adds up histories, and says whether a run did enough to count. */
import type { Nearest, Violation } from './invariants/rule.ts';
import { isNearer } from './invariants/rule.ts';
import type { HistoryResult } from './history-result.ts';

interface Failure {
  readonly seed: bigint;
  readonly violation: Violation;
}

/** The sums; `coreMs` is CPU time, which does not depend on a machine's other work. */
const COUNTS = ['histories', 'steps', 'turns', 'requests', 'accepted', 'virtualMs', 'coreMs'] as const;
type Counts = Readonly<Record<(typeof COUNTS)[number], number>>;

/** One core's report. */
export interface BatchMessage extends Counts {
  readonly seen: ReadonlyMap<string, number>;
  /** By rule with a bound: the amount that came nearest to it. */
  readonly nearest: ReadonlyMap<string, Nearest>;
  readonly failures: readonly Failure[];
}

export function emptyMessage(): BatchMessage {
  return { ...countsBy(() => 0), seen: new Map(), nearest: new Map(), failures: [] };
}

/** The leap over all retention is not lived through, so it does not count as virtual time. */
const LEAP_MS = 40 * 86_400_000;

export function include(message: BatchMessage, result: HistoryResult, coreMs: number): BatchMessage {
  const [violation] = result.violations;
  const virtualMs = result.virtualMs >= LEAP_MS ? result.virtualMs - LEAP_MS : result.virtualMs;
  const failures = violation === undefined ? [] : [{ seed: result.seed, violation }];
  return merge(message, { ...result, histories: 1, virtualMs, coreMs, failures });
}

function merge(one: BatchMessage, other: BatchMessage): BatchMessage {
  const seen = new Map(one.seen);
  for (const [what, count] of other.seen) seen.set(what, (seen.get(what) ?? 0) + count);
  const nearest = new Map(one.nearest);
  for (const [rule, measured] of other.nearest) if (isNearer(measured, nearest.get(rule))) nearest.set(rule, measured);
  const failures = [...one.failures, ...other.failures];
  return { ...countsBy((name) => one[name] + other[name]), seen, nearest, failures };
}

function countsBy(count: (name: keyof Counts) => number): Counts {
  return Object.fromEntries(COUNTS.map((name) => [name, count(name)])) as Counts;
}

const each = (prefix: string, ...names: readonly string[]): string[] => names.map((name) => `${prefix}${name}`);

/**
 * By feature: the proof that a run has reached it, and all its possible outcomes.
 * Verbs are counted by their outcomes; see `reached.ts` for the rest.
 */
const REACHED: Readonly<Record<string, readonly string[]>> = {
  requests: [
    ...each('request ', 'answered', 'requestLost', 'replyLost', 'failedBefore', 'failedAfter', 'throttled', 'conflict'),
    ...each('request ', 'late', 'duplicated'),
  ],
  faults: [
    ...[
      'partition',
      'outage',
      'all frozen',
      'frozen',
      'frozen beyond the TTL',
      'clock stepped',
      'row swept',
      'read stale',
    ],
    ...['killed at a port call', 'stalled at a port call', 'killed at a boundary', 'stalled at a boundary'],
    ...['process crashed', 'process timed out', 'environment cold', 'environment warm'],
  ],
  sessions: [
    ...each('session.renew: ', 'applied', 'refused', 'refusedUnsure', 'unknown'),
    ...['session.create: unknown', 'session.expire: applied', 'session.invalidate: applied'],
  ],
  invocations: each(
    'invocation ',
    ...['drained', 'handedBack', 'paused', 'sessionLost', 'storeUnavailable', 'locks used', 'coordinated'],
  ),
  'producing tasks': [
    ...['enqueued', 'enqueued again', 'enqueue tried again', 'enqueued with other input: refused'],
    ...each('task.enqueue: ', 'applied', 'refused', 'refusedUnsure', 'unknown'),
  ],
  'the claim and its ends': [
    ...each('task ', 'done', 'retried', 'dead', 'released', 'snoozed', 'lost', 'unsettled'),
    ...each('worker ', 'takenOver', 'claimsRefused', 'markedDead', 'expired', 'unknown'),
    ...each('task.claim: ', 'applied', 'refused', 'refusedUnsure', 'unknown'),
    ...each('task.complete: ', 'applied', 'unknown'),
    ...each('task.commit: ', 'applied', 'canceled', 'unknown'),
    'task.bar: applied',
    ...each('task.progress: ', 'applied', 'unknown'),
    ...[
      'task.takeOver: refused',
      'task.expire: applied',
      'task.release: applied',
      'task.snooze: applied',
      'task.markDead: refused',
    ],
  ],
  'commits that spawn': ['task spawned'],
  batches: ['batch enqueued', 'batch: callback created', 'batch.create: applied'],
  'waiting for children': ['task.wait: applied', 'parent woken'],
  'keys with limits and rates': ['key: all places taken', 'key: rate used up'],
  'strict order': ['line: joined behind others', 'line: passed to the next'],
  tenants: ['tenant: task claimed', 'one tenant enqueued much'],
  'large inputs': [
    ...[
      'input read from its row, where it is deflated',
      'input read beside its row',
      'payload removed',
      'payload.delete: applied',
    ],
    ...['enqueued by reference', 'input read from a store of its own'],
  ],
  'other work under an id': [
    ...['enqueued in place of another', 'enqueued to follow a running one'],
    ...['task.replace: applied', 'task.renew: applied'],
  ],
  'tasks with writes of the user’s own': [
    'order enqueued',
    'order of the other half',
    'order declined, because the stock is empty',
  ],
  operators: [
    ...each('operator: ', 'cancel: cancelled', 'cancel: requested', 'retry: retried', 'retried the dead'),
    ...each('operator: ', 'reschedule: rescheduled', 'paused', 'paused a tenant'),
  ],
  'recurring tasks': [
    'occurrences became tasks',
    'schedule.put: applied',
    'schedule.make: applied',
    'schedule.advance: applied',
  ],
  dispatching: ['tick dispatched', 'tick delivered again: nothing done'],
  continuation: ['successor goes on', 'successor delivered again: nothing done', 'worker not needed'],
  locks: [
    ...each('lock ', 'acquired', 'held', 'delayed', 'lost', 'released', 'forced: released'),
    ...each('lock.acquire: ', 'applied', 'refused', 'refusedUnsure', 'unknown'),
    ...['lock.takeOver: applied', 'lock.settle: applied', 'lock.update: applied', 'fence refused'],
  ],
  semaphores: [
    ...each('permit ', 'acquired', 'acquired in turn', 'full', 'waited for in vain', 'released', 'lost', 'evicted'),
    ...['limit set', 'limiter entered', 'limiter full'],
  ],
  'rate limits': ['tokens taken', 'tokens limited'],
  'wait groups': [
    ...['members added', 'members refused: the group is sealed', 'member done', 'member lost', 'no such member'],
    ...['wait ended: complete', 'wait ended: pending'],
  ],
};

/** Events that a run of a thousand or more histories must contain at least once: every fault, every feature, and every way to end. */
export const MUST_BE_SEEN: readonly string[] = Object.values(REACHED).flat();

/** A history that accepts less does not exercise the protocol. */
const LEAST_ACCEPTED_PER_HISTORY = 250;
/** From this number on every event must have occurred: the rarest occurs four times in a thousand. */
const ENOUGH_HISTORIES = 5_000;

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
    return `${histories} histories, ${failures.length} violated${seeds === '' ? '' : ` (${seeds})`}, ${Math.round(steps / coreMs)} k steps/s/core, ${(this.elapsedMs / 1000).toFixed(0)} s, ${Math.round(process.memoryUsage.rss() / 1e6)} MB`;
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
