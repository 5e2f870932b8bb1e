/**
 * Candidates that need no poll: tasks that took over a slot of their key, named tasks, and announced tasks.
 * When a task ends here, its key's slot goes to a parked task in the background, so no worker waits for that.
 * Candidates proposed here are tried first, while they are fresh; every worker sees their entries in the index.
 */
import { allOf } from '../../core/runtime/all-of.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { TaskKey } from '../task/task.ts';
import type { Candidates, Found } from './candidates.ts';
import type { Linked } from './key-places.ts';

/** By then other workers have found its entry. */
const FRESH_MS = 500;
/** Maximum number of enqueued tasks read by their ids. For more, the index is the cheaper list. */
const HEARD_LIMIT = 25;

export class Handover {
  readonly #candidates: Candidates;
  readonly #clock: Clock;
  #back: { readonly candidate: Found; readonly untilMonotonicMs: number }[] = [];
  #underWay: Promise<void> | undefined;
  #repairing: Promise<void> | undefined;
  /** Enqueued tasks whose rows were not read yet; and the read in flight. */
  readonly #heard: TaskKey[] = [];
  #reading: Promise<unknown> | undefined;
  /** An unexpected error: `settled` throws it. */
  #mistake: { readonly error: unknown } | undefined;

  constructor(candidates: Candidates, clock: Clock) {
    this.#candidates = candidates;
    this.#clock = clock;
  }

  /** Unparks tasks of its key that have capacity now. */
  begin(task: Linked): void {
    if (task.links?.concurrency === undefined) return;
    this.#candidates.places.owe(task);
    this.#underWay ??= this.#passOn().finally(() => (this.#underWay = undefined));
  }

  /** Unparks missed tasks once in a while, in the background: no worker waits for it as long as it has other work. */
  beginRepair(): void {
    this.#repairing ??= this.#proposeThose(() => this.#candidates.repair()).finally(
      () => (this.#repairing = undefined),
    );
  }

  get isUnderWay(): boolean {
    return this.#underWay !== undefined || this.#repairing !== undefined;
  }

  /** Waits until no unparking is in flight. */
  async settled(): Promise<void> {
    await allOf([this.#underWay, this.#repairing]);
    if (this.#mistake !== undefined) throw this.#mistake.error;
  }

  /** Whether the rows of announced tasks are still to be read. */
  get isHearing(): boolean {
    return this.#heard.length > 0;
  }

  /** Adds tasks that were just enqueued. @returns whether their rows will be read; false if there are too many */
  hear(keys: readonly TaskKey[]): boolean {
    if (this.#heard.length + keys.length > HEARD_LIMIT) return false;
    this.#heard.push(...keys);
    return true;
  }

  /** Proposes the announced tasks. All slots that ask during the read wait for the same rows, and share the result. */
  async readHeard(): Promise<void> {
    const keys = this.#heard.splice(0);
    if (keys.length > 0) {
      const reading = allOf([this.#reading, this.read(keys)]).finally(() => {
        if (this.#reading === reading) this.#reading = undefined;
      });
      this.#reading = reading;
    }
    await this.#reading;
  }

  /** Proposes those of the tasks that may be tried, because the index may not show them yet. */
  async read(keys: readonly TaskKey[]): Promise<void> {
    this.propose(await this.#candidates.choose(keys));
  }

  /** Adds checked-out candidates, to be tried before all others. */
  propose(candidates: readonly Found[]): void {
    const untilMonotonicMs = this.#clock.monotonic() + FRESH_MS;
    this.#back.push(...candidates.map((candidate) => ({ candidate, untilMonotonicMs })));
  }

  next(): Found | undefined {
    const now = this.#clock.monotonic();
    for (const { candidate, untilMonotonicMs } of this.#back)
      if (untilMonotonicMs < now) this.#candidates.putBack(candidate.task);
    this.#back = this.#back.filter(({ untilMonotonicMs }) => now <= untilMonotonicMs);
    return this.#back.shift()?.candidate;
  }

  async #passOn(): Promise<void> {
    // A task that is about to begin takes a slot, so no other task is unparked for that slot.
    const reservedOf = (key: string): number =>
      this.#back.filter(({ candidate }) => candidate.task.links?.concurrency?.key === key).length;
    while (this.#candidates.places.isOwing && this.#mistake === undefined)
      await this.#proposeThose(() => this.#candidates.passOn(reservedOf));
  }

  async #proposeThose(find: () => Promise<readonly Found[]>): Promise<void> {
    try {
      this.propose(await find());
    } catch (error) {
      this.#mistake ??= { error };
    }
  }
}
