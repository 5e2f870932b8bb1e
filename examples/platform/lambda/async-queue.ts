/**
 * Asynchronous invocation: events that Lambda has accepted and must attempt.
 *
 * - A throttled event returns to the queue and is tried again after growing pauses until it is too old. That costs no retry.
 * - An event whose function failed is retried `maximumRetryAttempts` times, under the same request id.
 * - Abandoned events are reported; on AWS they would go to the dead-letter queue.
 * - Accepted events live in memory: stopping the platform loses them, which loses no task, because the next tick sees the whole backlog.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html
 */
import type { Clock } from '../../../shared/core/runtime/clock.ts';
import type { Random } from '../../../shared/core/runtime/random.ts';
import { fullJitterMs } from '../../../shared/core/runtime/random.ts';
import type { Invocation } from './environment-process.ts';
import type { Emit } from './events.ts';
import type { LocalFunction } from './function-settings.ts';
import type { InvocationResult } from './outcomes.ts';

export interface AsyncRetryTiming {
  /** Before the first, second, … retry after a function error; the last one repeats. */
  readonly functionErrorDelaysMs: readonly [number, ...number[]];
  /** Full jitter between 0 and a bound that doubles from base to cap. */
  readonly throttleBackoff: { readonly baseMs: number; readonly capMs: number };
}

/** AWS's own; tests and demonstrations pass shorter ones. */
export const LAMBDA_RETRY_TIMING: AsyncRetryTiming = {
  functionErrorDelaysMs: [60_000, 120_000],
  throttleBackoff: { baseMs: 1_000, capMs: 300_000 },
};

export interface AsyncQueueOptions {
  readonly target: LocalFunction;
  readonly attempt: (invocation: Invocation) => Promise<InvocationResult | 'throttled'>;
  readonly timing: AsyncRetryTiming;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: Emit;
  /** Aborted when the platform stops: what still waits is dropped. */
  readonly signal: AbortSignal;
}

export class AsyncQueue {
  readonly #options: AsyncQueueOptions;

  constructor(options: AsyncQueueOptions) {
    this.#options = options;
  }

  /** Takes responsibility for the event; resolves when it is done with, which no caller of Lambda ever learns. */
  async accept(invocation: Invocation): Promise<void> {
    const { target, attempt, clock, signal, timing, random } = this.#options;
    const acceptedAt = clock.monotonic();
    let throttles = 0;
    let failures = 0;
    while (!signal.aborted) {
      if (clock.monotonic() - acceptedAt > target.maximumEventAgeMs) {
        this.#discard(invocation, 'tooOld');
        return;
      }
      const result = await attempt(invocation);
      if (result === 'throttled') {
        throttles++;
        await this.#pause(invocation, 'throttled', fullJitterMs(random, timing.throttleBackoff, throttles));
      } else if (result.outcome === 'success') {
        return;
      } else {
        failures++;
        if (failures > target.maximumRetryAttempts) {
          this.#discard(invocation, 'retriesExhausted');
          return;
        }
        await this.#pause(invocation, 'functionError', delayAfter(failures, timing));
      }
    }
  }

  async #pause(invocation: Invocation, because: 'throttled' | 'functionError', delayMs: number): Promise<void> {
    const { clock, emit, signal, target } = this.#options;
    if (signal.aborted) return;
    const { requestId } = invocation;
    emit({ type: 'retryScheduled', functionName: target.name, requestId, because, delayMs });
    await clock.sleep(delayMs, signal);
  }

  #discard({ requestId }: Invocation, because: 'retriesExhausted' | 'tooOld'): void {
    if (this.#options.signal.aborted) return;
    const { emit, target } = this.#options;
    emit({ type: 'eventDiscarded', functionName: target.name, requestId, because });
  }
}

function delayAfter(failures: number, { functionErrorDelaysMs }: AsyncRetryTiming): number {
  return functionErrorDelaysMs[failures - 1] ?? functionErrorDelaysMs.at(-1) ?? functionErrorDelaysMs[0];
}
