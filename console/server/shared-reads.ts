/** Reads that all viewers share: one at a time for each question. An expensive answer is reused for longer. */
import type { Clock } from '../../shared/core/runtime/clock.ts';

export interface Priced<T> {
  readonly value: T;
  readonly units: number;
}

interface Answer {
  readonly value: Promise<unknown>;
  /** By the monotonic clock; Infinity while a poll is in flight. */
  freshUntil: number;
}

/** Questions that are remembered; those asked longest ago are forgotten first. */
const ANSWERS_KEPT = 100;

export class SharedReads {
  readonly #clock: Clock;
  readonly #pace: { readonly everyMs: number; readonly unitsPerSecond: number };
  readonly #answers = new Map<string, Answer>();

  constructor(clock: Clock, pace: { readonly everyMs: number; readonly unitsPerSecond: number }) {
    this.#clock = clock;
    this.#pace = pace;
  }

  /** @param question names what `read` reads: the same name, the same answer */
  ask<T>(question: string, read: () => Promise<Priced<T>>): Promise<T> {
    const known = this.#answers.get(question);
    if (known !== undefined && this.#clock.monotonic() < known.freshUntil) return known.value as Promise<T>;
    return this.#askAgain(question, read);
  }

  /** After an act: everything may have changed. */
  forget(): void {
    this.#answers.clear();
  }

  #askAgain<T>(question: string, read: () => Promise<Priced<T>>): Promise<T> {
    const asked = read();
    const answer: Answer = { value: asked.then(({ value }) => value), freshUntil: Infinity };
    this.#answers.delete(question);
    this.#answers.set(question, answer);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > ANSWERS_KEPT && oldest !== undefined) this.#answers.delete(oldest);
    asked.then(
      ({ units }) => {
        const { everyMs, unitsPerSecond } = this.#pace;
        // A viewer that comes back after `everyMs` is to find something new, so it ends a little before.
        answer.freshUntil = this.#clock.monotonic() + Math.max(everyMs / 2, (units / unitsPerSecond) * 1_000);
      },
      () => {
        answer.freshUntil = -Infinity;
      },
    );
    return answer.value as Promise<T>;
  }
}
