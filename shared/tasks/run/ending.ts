/** The outcome of task code before anything is written, and the wait until its signal aborts. */

export type Ending =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'handedBack'; readonly isDeadline: boolean }
  | { readonly kind: 'cancelled'; readonly reason: string }
  | { readonly kind: 'lost' };

export function cancelled(reason: string): Ending {
  return { kind: 'cancelled', reason };
}

export async function rejectedBy(signal: AbortSignal): Promise<never> {
  await aborted(signal);
  throw signal.reason;
}

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener(
      'abort',
      () => {
        resolve();
      },
      { once: true },
    );
  });
}
