/**
 * `DirectCandidates` holds candidates that need no poll: the next task for a key's slot that was freed here, and tasks named by the
 * worker's event.
 * They are tried before all others while they are fresh. Other workers see them in the index.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { TaskKey } from '../task/task.ts';
import type { Candidates, Found } from './candidates.ts';
import type { Linked } from './key-capacity.ts';
import { FRESH_MS } from './tuning.ts';

export class DirectCandidates {
  readonly #candidates: Candidates;
  readonly #clock: Clock;
  #back: { readonly candidate: Found; readonly untilMonotonicMs: number }[] = [];
  #calling: Promise<void> | undefined;
  /** An unexpected error, which `settled` throws. */
  #mistake: { readonly error: unknown } | undefined;

  constructor(candidates: Candidates, clock: Clock) {
    this.#candidates = candidates;
    this.#clock = clock;
  }

  /** Reads the first few tasks that wait for a slot of its key, in the background. @returns whether any are known */
  callBack(task: Linked, onRead: () => void): boolean {
    if (this.#calling !== undefined) return true;
    if (!this.#candidates.places.hasTurnedAway(task)) return false;
    this.#calling = this.#proposeThose(() => this.#candidates.calledBack(task)).finally(() => {
      this.#calling = undefined;
      onRead();
    });
    return true;
  }

  get isUnderWay(): boolean {
    return this.#calling !== undefined;
  }

  /** Waits until no read is in flight. */
  async settled(): Promise<void> {
    await this.#calling;
    if (this.#mistake !== undefined) throw this.#mistake.error;
  }

  /** Proposes the tasks with these ids if they may be tried. The index may not show them yet. */
  async read(keys: readonly TaskKey[]): Promise<void> {
    this.propose((await this.#candidates.choose(keys)).found);
  }

  /** Adds checked-out candidates, to be tried before all others. */
  propose(candidates: readonly Found[]): void {
    const untilMonotonicMs = this.#clock.monotonic() + FRESH_MS;
    this.#back.push(...candidates.map((candidate) => ({ candidate, untilMonotonicMs })));
  }

  get isEmpty(): boolean {
    return this.#back.length === 0;
  }

  next(): Found | undefined {
    const now = this.#clock.monotonic();
    for (const { candidate, untilMonotonicMs } of this.#back)
      if (untilMonotonicMs < now) this.#candidates.putBack(candidate.task);
    this.#back = this.#back.filter(({ untilMonotonicMs }) => now <= untilMonotonicMs);
    return this.#back.shift()?.candidate;
  }

  async #proposeThose(find: () => Promise<readonly Found[]>): Promise<void> {
    try {
      this.propose(await find());
    } catch (error) {
      this.#mistake ??= { error };
    }
  }
}
