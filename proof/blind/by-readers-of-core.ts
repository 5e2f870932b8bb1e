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
  {
    id: 'N133',
    what: 'A view of a part of a buffer is stored as the whole buffer.',
    swaps: [
      {
        file: 'shared/dynamo/wire/attribute-value.ts',
        from: 'new Uint8Array(value.buffer, value.byteOffset, value.byteLength)',
        to: 'new Uint8Array(value.buffer)',
      },
    ],
    killedBy: { test: 'test/unit/dynamo/wire/attribute-value.test.ts', title: 'a view of a part is stored' },
  },
  {
    id: 'N134',
    what: 'A release that is done throws if the marks cannot be folded after it.',
    swaps: [
      {
        file: 'shared/coordination/semaphore/give-back.ts',
        from: '    if (!(error instanceof StoreUnavailableError)) throw error;',
        to: '    throw error;',
      },
    ],
    killedBy: {
      test: 'test/unit/coordination/semaphore/give-back.test.ts',
      title: 'although the store fails after it',
    },
  },
  {
    id: 'N135',
    what: 'A worker that the kit lets crash before it settles stores that its task waits for children.',
    swaps: [{ file: 'shared/testing/crash-points.ts', from: 'snooze: die, waitFor: die }', to: 'snooze: die }' }],
    killedBy: { test: 'test/unit/tasks/task/kit.test.ts', title: 'stores nothing of waitFor' },
  },
];
