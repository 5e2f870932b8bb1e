/** A suite about sessions, locks, elections and what builds on them, in each world. */
import { describe } from 'vitest';
import type { World } from './coordination.ts';
import { simulatedWorld, worldOn } from './coordination.ts';
import { describeOnEmulator, isOnChosen } from './stores.ts';

/** Runs a suite on AWS's emulator and on the simulated store, each test with its own clock. */
export function describeInEveryWorld(name: string, suite: (open: () => World) => void): void {
  describeOnEmulator(name, (open) => {
    suite(() => worldOn(open().driver, open().table, false));
  });
  if (isOnChosen()) return;
  describe(`${name} on the simulated store`, () => {
    suite(() => simulatedWorld());
  });
}
