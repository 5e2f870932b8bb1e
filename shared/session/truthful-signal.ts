/**
 * Makes the `aborted` of an AbortSignal a value that is computed on each read.
 *
 * A process that was stopped and continued runs I/O callbacks before overdue timers,
 * so a plain signal would still say "not aborted" to the first code that asks after a thaw.
 * @param signal the signal to make truthful; it is returned
 * @param refresh aborts the signal's controller if its time is over
 */
export function truthfulSignal(signal: AbortSignal, refresh: () => void): AbortSignal {
  const plainlyAborted = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'aborted');
  Object.defineProperty(signal, 'aborted', {
    get(): boolean {
      refresh();
      return plainlyAborted?.get?.call(signal) as boolean;
    },
  });
  signal.throwIfAborted = (): void => {
    if (signal.aborted) throw signal.reason;
  };
  return signal;
}
