/**
 * In the code that a test kit runs, only the kit's own clients may send: a real one would find no table, or somebody's.
 * The kit says whether the caller is such code, and clients that it did not make ask before they send.
 */
import { ConfigurationError } from './errors.ts';

let isInKit = (): boolean => false;

/** @param isKit whether the caller runs in a test kit */
export function ownClientsOnly(isKit: () => boolean): void {
  isInKit = isKit;
}

/** For clients of real tables. @throws ConfigurationError in code that a test kit runs */
export function ensureOutsideKit(): void {
  if (!isInKit()) return;
  throw new ConfigurationError(
    'this client is not the one of the test kit that runs the task, so its rows are not there either: nothing was sent; ' +
      'take the client from leaseholdOf(task), which is that of the worker that runs the task, here and in production',
  );
}
