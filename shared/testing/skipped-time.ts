/** Lets durable tasks wait by the clock of tests, because the SDK waits by the real clock. */
import { systemClock } from '../core/runtime/clock.ts';
import type { SkippedTime, Timed } from '../tasks/run/claim-holder.ts';

/** The SDK is told that each wait is over after this time, so that it asks. How soon it asks changes nothing: the journal decides. */
const SOON_MS = 50;
/**
 * A branch that was given up keeps the SDK from suspending, for as long as it lives: then it only polls. Otherwise it suspends by a timer
 * of 20 ms, which it sets anew after each poll. A busy machine delays all timers, and keeps their order. So timers are counted: if so
 * many, each longer and set when the one before it has run out, end during nothing but polls, then it never suspends.
 */
const STUCK_AFTER = { timers: 12, eachMs: 25 };

export class DurableTime implements SkippedTime {
  readonly #advance: (ms: number) => Promise<void>;
  #working = 0;
  /** Set by a poll while nothing is at work, and forgotten with all that is more than a poll. */
  #idle: { isStuck: boolean } | undefined;

  constructor(advance: (ms: number) => Promise<void>) {
    this.#advance = advance;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#working++;
    this.#idle = undefined;
    try {
      return await work();
    } finally {
      this.#working--;
    }
  }

  async polled(msToWake: number): Promise<boolean> {
    if (this.#working > 0) this.#idle = undefined;
    else if (this.#idle === undefined) void this.#countTimers((this.#idle = { isStuck: false }));
    if (this.#idle?.isStuck !== true) return false;
    if (msToWake < Infinity) await this.#advance(msToWake);
    return true;
  }

  shown<Operation extends Timed>(operation: Operation, now: number): Operation {
    const at = (date: Date | string | undefined): Date | undefined =>
      date === undefined ? undefined : new Date(systemClock.now() + Math.min(SOON_MS, new Date(date).getTime() - now));
    const { StepDetails, WaitDetails } = operation;
    return {
      ...operation,
      ...(StepDetails && {
        StepDetails: { ...StepDetails, NextAttemptTimestamp: at(StepDetails.NextAttemptTimestamp) },
      }),
      ...(WaitDetails && { WaitDetails: { ScheduledEndTimestamp: at(WaitDetails.ScheduledEndTimestamp) } }),
    };
  }

  async #countTimers(idle: { isStuck: boolean }): Promise<void> {
    for (let count = 0; count < STUCK_AFTER.timers && this.#idle === idle; count++)
      await systemClock.sleep(STUCK_AFTER.eachMs);
    idle.isStuck = true;
  }
}
