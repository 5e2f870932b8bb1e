/** Recognizes a refusal for want of a permission: the worker lacks a grant, and the work is not to blame. */
import { isCausedBy } from './errors.ts';

/** The service's code. */
export const DENIED = 'AccessDeniedException';

/** Whether a missing permission is the root cause of a thrown value. */
export function isDenied(thrown: unknown): boolean {
  return isCausedBy(thrown, ({ code }) => code === DENIED);
}
