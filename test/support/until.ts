import { setImmediate as drained } from 'node:timers/promises';

/** Resolves when a condition has become true; time passes elsewhere. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await drained();
}
