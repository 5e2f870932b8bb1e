/** Recognizes a refusal for want of a permission: the worker lacks a grant, and the work is not to blame. */

/** The service's code. */
export const DENIED = 'AccessDeniedException';

/** Whether a missing permission is the root cause of a thrown value. */
export function isDenied(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause)
    if ((error as Error & { readonly code?: unknown }).code === DENIED) return true;
  return false;
}
