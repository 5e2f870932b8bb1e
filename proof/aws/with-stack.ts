/**
 * Deploys, works, and destroys in every case: after an error, and after an interruption at any step.
 *
 * The first interruption stops the work and begins the removal. A second one ends the removal too, and the error names the stack that is
 * left.
 */
export interface StackPorts {
  /** Ends when the signal aborts, with whatever has been created. */
  deploy(signal: AbortSignal): Promise<void>;
  /** Waits until the stack and its resources are gone. Idempotent. */
  destroy(): Promise<void>;
  /** How to remove by hand what is left. */
  readonly remedy: string;
}

/** Calls back at each interruption, with the error if a stray error caused it; returns how to stop listening. */
export type OnInterrupt = (listener: (stray?: Error) => void) => () => void;

export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** Something may be left in the account; the message names it, and the command that removes it. */
export class LeftBehind extends Error {
  override readonly name = 'LeftBehind';
}

export async function withStack<T>(
  stack: StackPorts,
  onInterrupt: OnInterrupt,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const abandoned = Promise.withResolvers<never>();
  abandoned.promise.catch(() => undefined);
  const forget = onInterrupt((stray) => {
    if (!stop.signal.aborted) stop.abort(stray ?? new Interrupted('interrupted: the stack is being destroyed'));
    // A stray error never ends the removal.
    else if (stray === undefined) abandoned.reject(new LeftBehind(`the removal was interrupted: ${stack.remedy}`));
  });
  const remove = async (cause?: unknown): Promise<void> => {
    const removed = stack.destroy().catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw new LeftBehind(`the removal failed (${reason}): ${stack.remedy}`, { cause: cause ?? error });
    });
    await Promise.race([removed, abandoned.promise]);
  };
  try {
    let result: T;
    try {
      await stack.deploy(stop.signal);
      stop.signal.throwIfAborted();
      result = await unless(stop.signal, work(stop.signal));
    } catch (error) {
      await remove(error);
      throw error;
    }
    await remove();
    return result;
  } finally {
    forget();
  }
}

/** Settles like the promise, or rejects with the signal's reason. */
export async function unless<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
    promise.catch(() => undefined); // its later failure has no effect
  }
}
