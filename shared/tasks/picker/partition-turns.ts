/**
 * When a worker that finds nothing looks again, and how often: one partition at a time, in turn.
 *
 * A look at an empty partition of the index is a request and half a read unit,
 * and a queue has as many partitions as shards and named lanes.
 * So a worker without work pays by the look and not by the partition: often after it has found something, then for twice as long each time.
 * Only while tasks flow, one find after the other, all partitions are looked at each half second (`task-picker.ts`).
 *
 * Guarantees
 *   - Each partition in a named lane at home is looked at within a heartbeat, however many there are: of many, one sooner after the other.
 *   - With eight shards, lanes that the queue's row does not name have their
 *     turn with one look each 7.5 s, which is a lane a minute: a task that
 *     stands in one is found within five minutes, or by the tick before. Where no dispatcher has written a row, each 2.5 s.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { Random } from '../../core/runtime/random.ts';

interface Pace {
  /** Between looks at an empty backlog. */
  readonly pollMs: number;
  /** From a minute without a find on; absent: the same. */
  readonly idlePollMs?: number | undefined;
  /** How often workers' sessions are renewed. No partition waits for longer than this. */
  readonly heartbeatMs: number;
}

/** What the next turn may be given to. */
interface Choice {
  /** In lanes that the queue's row names. */
  readonly named: number;
  /** In one lane. */
  readonly shards: number;
  /** Whether a dispatcher has written down which lanes are in use. */
  readonly isNoted: boolean;
}

/** A find makes the next look come so much sooner than the pace. */
const QUICKENED = 8;
const IDLE_AFTER_MS = 60_000;
/** In which all shards of one lane that is not named have their turn. */
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

  /** Something was found, or may be there: there may be more. */
  quicken(): void {
    const now = this.#clock.monotonic();
    this.#foundAtMonotonicMs = now;
    this.#gapMs = this.#pace.pollMs / QUICKENED;
    this.#nextAtMonotonicMs = Math.min(this.#nextAtMonotonicMs, now + this.#jittered(this.#gapMs));
  }

  /** Takes the turn that is due. Returns which partitions it is for. */
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

  /** On average as long. */
  #jittered(ms: number): number {
    return ms * (0.75 + 0.5 * this.#random.next());
  }
}
