/** Blind bugs of a reader of the core and its drivers, found after the tests for the earlier ones were there. */
import type { BlindBug } from './bug.ts';

export const BY_READERS_OF_CORE: readonly BlindBug[] = [
  {
    id: 'N120',
    what: 'The meter reports refused conditions as throttling.',
    swaps: [
      { file: 'shared/dynamo/engine/meter.ts', from: "throttled: sum('throttled')", to: "throttled: sum('refused')" },
    ],
    killedBy: { test: 'test/unit/dynamo/engine/meter.test.ts', title: 'counts each fault as its kind' },
  },
  {
    id: 'N121',
    what: 'A lock-delay of a whole minute is refused.',
    swaps: [
      {
        file: 'shared/core/lease/timing.ts',
        from: 'lockDelayMs > MAX_LOCK_DELAY_MS',
        to: 'lockDelayMs >= MAX_LOCK_DELAY_MS',
      },
    ],
    killedBy: { test: 'test/unit/core/lease/timing.test.ts', title: 'which is just within its limits' },
  },
];
