/** The wait of a worker's slots while there is nothing to do: all of them wait together, and any of them can end it for all. */
import type { Clock } from '../../core/runtime/clock.ts';

/** The announcement poll while the slots wait; it ends the pause if they need not wait any longer. */
interface Glances {
  /** Before the next; `Infinity`: there is none. */
  readonly glanceMs: number;
  glance(): Promise<void>;
}

export class SharedPause {
  readonly #clock: Clock;
  readonly #over: AbortSignal;
  readonly #glances: Glances | undefined;
  #current: { readonly until: Promise<void>; readonly cut: AbortController } | undefined;

  /** @param over ends it */
  constructor(clock: Clock, over: AbortSignal, glances?: Glances) {
    this.#clock = clock;
    this.#over = over;
    this.#glances = glances;
    over.addEventListener('abort', () => this.end());
  }

  /** @param ms for the slot that starts the pause; later slots wait for the rest of it */
  async wait(ms: number): Promise<void> {
    if (this.#over.aborted) return;
    this.#current ??= this.#begin(ms);
    await this.#current.until;
  }

  end(): void {
    this.#current?.cut.abort();
  }

  #begin(ms: number): { readonly until: Promise<void>; readonly cut: AbortController } {
    const cut = new AbortController();
    const until = this.#pass(this.#clock.monotonic() + ms, cut.signal).finally(() => {
      this.#current = undefined;
    });
    return { until, cut };
  }

  async #pass(endMonotonicMs: number, cut: AbortSignal): Promise<void> {
    for (;;) {
      const leftMs = endMonotonicMs - this.#clock.monotonic();
      const glanceMs = this.#glances?.glanceMs ?? Infinity;
      await this.#clock.sleep(Math.max(0, Math.min(leftMs, glanceMs)), cut);
      if (cut.aborted || leftMs <= glanceMs) return;
      await this.#glances?.glance();
    }
  }
}
