/**
 * `DirectCandidates` holds candidates that need no poll: the next task of a key or line of which a task has ended here, and tasks named by
 * the worker's event.
 * They are tried before all others while they are fresh. Other workers see them in the index.
 */
import type { Clock } from '../../core/runtime/clock.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { TaskKey } from '../task/task.ts';
import type { Candidates, Found } from './candidates.ts';
import type { Linked } from './key-capacity.ts';
import { FRESH_MS } from './tuning.ts';

export class DirectCandidates {
  readonly #candidates: Candidates;
  readonly #clock: Clock;
  readonly #onRead: () => void;
  #back: { readonly candidate: Found; readonly untilMonotonicMs: number }[] = [];
  #calling: Promise<void> | undefined;
  readonly #following = new Set<Promise<void>>();
  /** The first error of a read in the background, which `settled` throws once. */
  #mistake: { readonly error: unknown } | undefined;

  constructor(
    candidates: Candidates,
    { runtime, onWorthPolling }: { readonly runtime: Runtime; readonly onWorthPolling: () => void },
  ) {
    this.#candidates = candidates;
    this.#clock = runtime.clock;
    this.#onRead = onWorthPolling;
  }

  /** Reads the first few tasks that wait for a slot of its key, in the background. @returns whether any are known */
  callBack(task: Linked): boolean {
    if (this.#calling !== undefined) return true;
    if (!this.#candidates.places.hasTurnedAway(task)) return false;
    this.#calling = this.#proposeThose(() => this.#candidates.calledBack(task)).finally(() => {
      this.#calling = undefined;
      this.#onRead();
    });
    return true;
  }

  /**
   * Reads the next task of the line of a task that has ended here, in the background.
   * @param onMissed called if it may not be tried yet
   * @returns whether one is known
   */
  followInLine(left: Linked, onMissed: () => void): boolean {
    const place = left.links?.line;
    const next = this.#candidates.turns.nextOf(place);
    if (place === undefined || next === undefined) return false;
    const find = async (): Promise<readonly Found[]> => {
      const found = await this.#candidates.nextInLine(place, next);
      if (found.length === 0) onMissed();
      return found;
    };
    const read = this.#proposeThose(find).finally(() => {
      this.#following.delete(read);
      this.#onRead();
    });
    this.#following.add(read);
    return true;
  }

  get isUnderWay(): boolean {
    return this.#calling !== undefined || this.#following.size > 0;
  }

  /** Waits until no read is in flight. @throws the first error of a read since the last call */
  async settled(): Promise<void> {
    await Promise.all([this.#calling, ...this.#following]);
    const mistake = this.#mistake;
    this.#mistake = undefined;
    if (mistake !== undefined) throw mistake.error;
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
