import { FakeClock } from '../../shared/testing/fake-clock.ts';

/** A clock of a test's own, whose wall can also be wrong. */
export class ManualClock extends FakeClock {
  #steppedMs = 0;

  constructor(startsAt: string) {
    super(new Date(startsAt));
  }

  override now(): number {
    return super.now() + this.#steppedMs;
  }

  /** The wall clock steps, as after a correction or a suspended machine; no time passes. */
  step(ms: number): void {
    this.#steppedMs += ms;
  }
}

/** Counts the sleeps that have not ended. */
export class CountingClock extends ManualClock {
  sleeping = 0;

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.sleeping++;
    await super.sleep(ms, signal);
    this.sleeping--;
  }
}
