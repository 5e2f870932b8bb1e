/** How long a worker stays after its last task, and its poll interval in that time. */
import type { Clock } from '../../core/runtime/clock.ts';

/** For tasks that come one by one. Frequent polls cost less than a start. Set by `bench fanout --scene "one a second"`. */
const STAY_MS = 1_900;
const STAYING_POLL_MS = 100;
/**
 * A durable task that waits no longer than this resumes in the worker that suspended it. Otherwise a tick starts one within a minute. Set by
 * `bench durable`.
 */
export const SHORT_WAIT_MS = 20_000;
/** A timer may end a little early. */
const TIMER_ERROR_MS = 5;

/** Of the worker's settings. */
interface StaySettings {
  readonly lingerMs?: number | undefined;
  readonly stays?: boolean | undefined;
  readonly shortWaitMs?: number | undefined;
  readonly deadlineMonotonicMs: number;
}

export function pollMsOf({ pollMs, stays = false }: StaySettings & { readonly pollMs: number }): number {
  return stays ? Math.min(pollMs, STAYING_POLL_MS) : pollMs;
}

export class Stay {
  readonly lingerMs: number;
  readonly #settings: StaySettings;
  readonly #clock: Clock;
  readonly #over: AbortSignal;
  readonly #onDue: (id: string) => void;
  #beganMonotonicMs: number;
  /** Number of durable tasks that this worker has suspended, and that are soon due again. */
  #shortWaits = 0;

  /** @param over ends all waits */
  constructor(settings: StaySettings, clock: Clock, over: AbortSignal, onDue: (id: string) => void) {
    const { lingerMs = 0, stays = false } = settings;
    this.lingerMs = Math.max(lingerMs, stays ? STAY_MS : 0);
    this.#settings = settings;
    this.#clock = clock;
    this.#over = over;
    this.#onDue = onDue;
    this.#beganMonotonicMs = clock.monotonic();
  }

  get hasEnd(): boolean {
    return this.lingerMs < Infinity;
  }

  get isOver(): boolean {
    return this.#shortWaits === 0 && this.#clock.monotonic() >= this.#beganMonotonicMs + this.lingerMs;
  }

  /** A task has ended: the stay begins again. */
  restart(): void {
    this.#beganMonotonicMs = this.#clock.monotonic();
  }

  /** Stays for a durable task that waits until `readyAt`, if that is soon. */
  async awaits(id: string, readyAt: number): Promise<void> {
    const { shortWaitMs = 0, deadlineMonotonicMs } = this.#settings;
    const waitMs = readyAt - this.#clock.now() + TIMER_ERROR_MS;
    if (waitMs > Math.min(shortWaitMs, deadlineMonotonicMs - this.#clock.monotonic())) return;
    this.#shortWaits++;
    await this.#clock.sleep(waitMs, this.#over);
    this.#shortWaits--;
    this.#onDue(id);
  }
}
