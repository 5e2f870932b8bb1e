/**
 * What is in hand before a look: tasks that took over a place of their key, tasks that were named, and tasks that were heard of.
 * A place of a key goes from a task that ended here to one that is parked beside the other work, so that nothing waits for it.
 * What is proposed here is tried first, while it is fresh; its entry is in the index for everyone.
 */
import { allOf } from '../../core/runtime/all-of.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { TaskKey } from '../task/task.ts';
import type { Candidates, Found } from './candidates.ts';
import type { Linked } from './key-places.ts';

/** Other workers have met its entry by then. */
const FRESH_MS = 500;
/** Enqueued tasks that are read by their ids: of more, the index is the cheaper list. */
const HEARD_LIMIT = 25;

export class Handover {
  readonly #candidates: Candidates;
  readonly #clock: Clock;
  #back: { readonly candidate: Found; readonly untilMonotonicMs: number }[] = [];
  #underWay: Promise<void> | undefined;
  #repairing: Promise<void> | undefined;
  /** Tasks that were enqueued and whose rows were not read yet; and the reading of such rows. */
  readonly #heard: TaskKey[] = [];
  #reading: Promise<unknown> | undefined;
  /** An error that was not foreseen: `settled` throws it. */
  #mistake: { readonly error: unknown } | undefined;

  constructor(candidates: Candidates, clock: Clock) {
    this.#candidates = candidates;
    this.#clock = clock;
  }

  /** Parked tasks of its key that have room by now are put back. */
  begin(task: Linked): void {
    if (task.links?.concurrency === undefined) return;
    this.#candidates.places.owe(task);
    this.#underWay ??= this.#passOn().finally(() => (this.#underWay = undefined));
  }

  /** Those that were missed are put back, once in a while: nothing waits for it as long as there is other work. */
  beginRepair(): void {
    this.#repairing ??= this.#proposeThose(() => this.#candidates.repair()).finally(
      () => (this.#repairing = undefined),
    );
  }

  get isUnderWay(): boolean {
    return this.#underWay !== undefined || this.#repairing !== undefined;
  }

  /** Until nothing is under way. */
  async settled(): Promise<void> {
    await allOf([this.#underWay, this.#repairing]);
    if (this.#mistake !== undefined) throw this.#mistake.error;
  }

  /** Whether tasks were heard of whose rows are still to be read. */
  get isHearing(): boolean {
    return this.#heard.length > 0;
  }

  /** Tasks that were just enqueued. @returns whether their rows will be read; else they are too many */
  hear(keys: readonly TaskKey[]): boolean {
    if (this.#heard.length + keys.length > HEARD_LIMIT) return false;
    this.#heard.push(...keys);
    return true;
  }

  /** Proposes what was heard of. All slots that ask meanwhile wait for the same rows, and share what they show. */
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

  /** Proposes those of the tasks that may be tried: the index may not show them yet. */
  async read(keys: readonly TaskKey[]): Promise<void> {
    this.propose(await this.#candidates.choose(keys));
  }

  /** Candidates that are in hand, to be tried before all others. */
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
    // A task that is about to begin takes a place: no other is put back for it.
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
