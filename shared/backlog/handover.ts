/**
 * How a place of a key goes from a task that ended here to one that is parked: beside the other work, so that nothing waits for it.
 * What is put back is proposed here first, while it is fresh; its entry is in the index for everyone.
 */
import type { Clock } from '../runtime/clock.ts';
import type { Candidate, Candidates } from './candidates.ts';
import type { Linked } from './key-places.ts';

/** Other workers have met its entry by then. */
const FRESH_MS = 500;

export class Handover {
  readonly #candidates: Candidates;
  readonly #clock: Clock;
  #back: { readonly candidate: Candidate; readonly untilMonotonicMs: number }[] = [];
  #underWay: Promise<void> | undefined;
  /** An error that was not foreseen: `settled` throws it. */
  #mistake: { readonly error: unknown } | undefined;

  constructor(candidates: Candidates, clock: Clock) {
    this.#candidates = candidates;
    this.#clock = clock;
  }

  /** Parked tasks of its key that have room by now are put back. */
  begin(task: Linked): void {
    if (task.links?.concurrency === undefined) return;
    this.#candidates.owe(task);
    this.#underWay ??= this.#passOn().finally(() => (this.#underWay = undefined));
  }

  get isUnderWay(): boolean {
    return this.#underWay !== undefined;
  }

  /** Until nothing is under way. */
  async settled(): Promise<void> {
    await this.#underWay;
    if (this.#mistake !== undefined) throw this.#mistake.error;
  }

  /** Candidates that are in hand, to be tried before all others. */
  propose(candidates: readonly Candidate[]): void {
    const untilMonotonicMs = this.#clock.monotonic() + FRESH_MS;
    this.#back.push(...candidates.map((candidate) => ({ candidate, untilMonotonicMs })));
  }

  next(): Candidate | undefined {
    const now = this.#clock.monotonic();
    for (const { candidate, untilMonotonicMs } of this.#back)
      if (untilMonotonicMs < now) this.#candidates.putBack(candidate.task);
    this.#back = this.#back.filter(({ untilMonotonicMs }) => now <= untilMonotonicMs);
    return this.#back.shift()?.candidate;
  }

  async #passOn(): Promise<void> {
    // A task that is about to begin takes a place: no other is put back for it.
    const reservedOf = (key: string): number =>
      this.#back.filter(({ candidate }) => candidate.task.links?.concurrency?.key === key).length;
    try {
      while (this.#candidates.isOwing) this.propose(await this.#candidates.passOn(reservedOf));
    } catch (error) {
      this.#mistake ??= { error };
    }
  }
}
