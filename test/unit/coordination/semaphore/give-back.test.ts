/** A permit that was released counts as released, whatever becomes of the marks that its release folds. */
import { expect, test } from 'vitest';
import { giveBackPermit } from '../../../../shared/coordination/semaphore/give-back.ts';
import type { SemaphoreStore } from '../../../../shared/coordination/semaphore/semaphore-store.ts';
import type { SemaphoreRecord } from '../../../../shared/coordination/semaphore/semaphore.ts';
import { StoreUnavailableError } from '../../../../shared/core/errors.ts';
import { systemRuntime as runtime } from '../../../../shared/core/runtime/runtime.ts';

test.each([7, 8, 9, 12])(
  'a release with %i marks in the row is done, although the store fails after it',
  async (marks) => {
    const left = Object.fromEntries(Array.from({ length: marks }, (_, n) => [`session-${n}`, n]));
    const released = { kind: 'applied', row: { name: 's', holders: [], left } as unknown as SemaphoreRecord } as const;
    const semaphores = {
      release: () => Promise.resolve(released),
      replace: () => Promise.reject(new StoreUnavailableError('no answer', { applied: 'unknown' })),
    } as unknown as SemaphoreStore;
    const permit = { session: 'mine', permits: 1, since: 1, token: 1 };

    expect(await giveBackPermit('s', permit, 1, { semaphores, runtime })).toBe(released);
  },
);
