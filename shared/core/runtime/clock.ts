/**
 * The only source of time.
 *
 * `now` is the wall clock: rows store it, and it may be wrong or step.
 * `monotonic` measures elapsed time inside one process and never goes back, but may stop while the machine is suspended.
 * Code that must not outlast a lease reads both.
 */
export interface Clock {
  /** Wall clock, milliseconds since 1970. */
  now(): number;
  /** Milliseconds since an arbitrary moment of this process; never goes back. */
  monotonic(): number;
  /**
   * Resolves after `ms` milliseconds (or `LONGEST_TIMER_MS`, if that is less), or at once when `signal` aborts.
   * Aborting is the orderly end of a wait, so it resolves instead of throwing: the caller checks its own state next.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls back once after `ms` milliseconds unless cancelled. For timers that are nearly always cancelled, at a third of the cost of a
   * sleep.
   */
  after(ms: number, call: () => void): Cancel;
}

/** Prevents the callback. Calling it again does nothing. */
export type Cancel = () => void;

/** Just under 25 days. A longer timer would fire at once, so longer waits are woken early. Our processes do not live that long. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep(ms, signal) {
    return new Promise((resolve) => {
      if (signal?.aborted) {
        resolve();
        return;
      }
      const finish = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const timer = setTimeout(finish, Math.min(ms, LONGEST_TIMER_MS));
      signal?.addEventListener('abort', finish, { once: true });
    });
  },
  after(ms, call) {
    const timer = setTimeout(call, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};
