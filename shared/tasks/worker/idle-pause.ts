/** The pause of a worker's slots while there is nothing to do. All slots share one pause, and any of them can end it for all. */
import type { Clock } from '../../core/runtime/clock.ts';

export class IdlePause {
  readonly #clock: Clock;
  readonly #over: AbortSignal;
  #current: { readonly until: Promise<void>; readonly cut: AbortController } | undefined;

  /** @param over ends every pause */
  constructor(clock: Clock, over: AbortSignal) {
    this.#clock = clock;
    this.#over = over;
    over.addEventListener('abort', () => this.end());
  }

  /** @param ms for the slot that starts the pause; later slots wait until the same end */
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
    const until = this.#clock.sleep(ms, cut.signal).finally(() => {
      this.#current = undefined;
    });
    return { until, cut };
  }
}
