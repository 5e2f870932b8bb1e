/**
 * Schedules the polls of a worker that finds nothing: one partition at a time, in turn.
 *
 * Polling an empty partition of the index costs a request and half a read unit,
 * and a queue has as many partitions as shards times named lanes.
 * So the cost of a worker without work depends on its polls and not on the number of partitions: it polls often after it has found a task,
 * then doubles the interval each time.
 * Only while tasks flow, one find after the other, it polls all partitions every half second (`task-picker.ts`).
 *
 * Guarantees
 *   - Each own partition in a named lane is polled within a heartbeat. The more partitions there are, the shorter the interval between
 *     polls.
 *   - With eight shards, lanes that the queue's row does not name get one poll each 7.5 s, which is one lane a minute:
 *     a task in such a lane is found within five minutes, or earlier by the tick.
 *     If no dispatcher has written a row, they get a poll each 2.5 s.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { Random } from '../../core/runtime/random.ts';

interface Pace {
  /** Interval between polls of an empty backlog. */
  readonly pollMs: number;
  /** The same interval after a minute without a find. Default: `pollMs`. */
  readonly idlePollMs?: number | undefined;
  /** Interval of session heartbeats. No partition waits longer than this. */
  readonly heartbeatMs: number;
}

/** Partitions that the next turn may choose from. */
interface Choice {
  /** Number of own partitions in lanes that the queue's row names. */
  readonly named: number;
  /** Number of own partitions in one lane. */
  readonly shards: number;
  /** Whether a dispatcher has noted which lanes are in use. */
  readonly isNoted: boolean;
}

/** After a find, the next poll comes this many times sooner than `pollMs`. */
const QUICKENED = 8;
const IDLE_AFTER_MS = 60_000;
/** Time in which all shards of one unnamed lane get their turn. */
const UNNAMED_LANE_MS = { noted: 60_000, unnoted: 20_000 };

export class Turns {
  readonly #pace: Pace;
  readonly #clock: Clock;
  readonly #random: Random;
  #gapMs: number;
  #nextAtMonotonicMs: number;
  #nextUnnamedAtMonotonicMs: number;
  #foundAtMonotonicMs: number;

  constructor(pace: Pace, { clock, random }: { readonly clock: Clock; readonly random: Random }) {
    this.#pace = pace;
    this.#clock = clock;
    this.#random = random;
    const now = clock.monotonic();
    this.#gapMs = pace.pollMs / QUICKENED;
    this.#nextAtMonotonicMs = now + this.#jittered(this.#gapMs);
    this.#nextUnnamedAtMonotonicMs = now;
    this.#foundAtMonotonicMs = now;
  }

  get isDue(): boolean {
    return this.#nextAtMonotonicMs <= this.#clock.monotonic();
  }

  get nextAtMonotonicMs(): number {
    return this.#nextAtMonotonicMs;
  }

  /** A task was found or may be there, so there may be more. */
  quicken(): void {
    const now = this.#clock.monotonic();
    this.#foundAtMonotonicMs = now;
    this.#gapMs = this.#pace.pollMs / QUICKENED;
    this.#nextAtMonotonicMs = Math.min(this.#nextAtMonotonicMs, now + this.#jittered(this.#gapMs));
  }

  /** Takes the turn that is due. Returns the kind of partition that it is for. */
  take({ named, shards, isNoted }: Choice): 'named' | 'unnamed' {
    const now = this.#clock.monotonic();
    const { pollMs, idlePollMs = pollMs, heartbeatMs } = this.#pace;
    const isIdle = now >= this.#foundAtMonotonicMs + IDLE_AFTER_MS;
    const most = Math.min(isIdle ? idlePollMs : pollMs, heartbeatMs / Math.max(1, named));
    this.#gapMs = Math.min(most, 2 * this.#gapMs);
    this.#nextAtMonotonicMs = now + this.#jittered(this.#gapMs);
    if (now < this.#nextUnnamedAtMonotonicMs) return 'named';
    const laneMs = isNoted ? UNNAMED_LANE_MS.noted : UNNAMED_LANE_MS.unnoted;
    this.#nextUnnamedAtMonotonicMs = now + this.#jittered(laneMs / Math.max(1, shards));
    return 'unnamed';
  }

  /** Jitters a duration and keeps its average. */
  #jittered(ms: number): number {
    return ms * (0.75 + 0.5 * this.#random.next());
  }
}
