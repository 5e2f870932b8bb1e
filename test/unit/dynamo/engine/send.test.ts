/** When a sender stops sending. */
import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { DynamoDriver } from '../../../../shared/dynamo/engine/driver.ts';
import { DynamoFault } from '../../../../shared/dynamo/engine/driver.ts';
import { Sender } from '../../../../shared/dynamo/engine/send.ts';
import { LeaseLostError } from '../../../../shared/core/errors.ts';
import { takeTick } from '../../../../shared/tasks/rows/tick-statements.ts';
import type { Clock } from '../../../../shared/core/runtime/clock.ts';
import { systemRuntime } from '../../../../shared/core/runtime/runtime.ts';
import { CountingClock } from '../../../support/manual-clock.ts';

const MONTH_MS = 30 * 86_400_000;

test('a process that was frozen between two attempts sends nothing when it wakes behind its time', async () => {
  let monotonic = 0;
  let attempts = 0;
  const clock: Clock = {
    now: () => monotonic,
    monotonic: () => monotonic,
    // The back-off.
    sleep: () => {
      monotonic += MONTH_MS;
      return Promise.resolve();
    },
    after: () => () => undefined,
  };
  const driver: DynamoDriver = {
    attempt: () => {
      attempts++;
      return Promise.reject(new DynamoFault('throttled', { code: 'ThrottlingException', message: 'slow down' }));
    },
  };
  const sender = new Sender({ driver, runtime: { ...systemRuntime, clock } });
  const tick = takeTick('leasehold', { schedule: 'tick', scheduledTime: '18' }, { by: 'me', now: 0, nonce: 'mine' });

  await expect(sender.write(tick, 'mine')).rejects.toMatchObject({
    name: 'StoreUnavailableError',
    applied: 'no',
  });
  expect(attempts).toBe(1);
});

test('sends nothing for a caller that gave up before its request was sent', async () => {
  let attempts = 0;
  const driver: DynamoDriver = {
    attempt: () => {
      attempts++;
      return Promise.reject(new DynamoFault('unanswered', { code: 'any', message: 'it was sent' }));
    },
  };
  const sender = new Sender({ driver, runtime: systemRuntime });
  const tick = takeTick('leasehold', { schedule: 'tick', scheduledTime: '18' }, { by: 'me', now: 0, nonce: 'mine' });

  await expect(sender.write(tick, 'mine', { signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: 'StoreUnavailableError',
    applied: 'no',
    message: expect.stringContaining('nothing was sent') as string,
  });
  const ensureTrusted = (): never => {
    throw new LeaseLostError('session s', 'expired', 'its time is over');
  };
  await expect(sender.write(tick, 'mine', { signal: AbortSignal.abort(), ensureTrusted })).rejects.toThrow(
    LeaseLostError,
  );
  expect(attempts).toBe(0);
});

test('keeps the outcome if an observer throws', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  const tick = takeTick('leasehold', { schedule: 'tick', scheduledTime: '18' }, { by: 'me', now: 0, nonce: 'mine' });
  const observer = {
    onAttempt: () => {
      throw new TypeError('the metrics client is closed');
    },
  };
  const senderOn = (attempt: DynamoDriver['attempt']) =>
    new Sender({ driver: { attempt }, runtime: systemRuntime, observer });
  const answers = (): Promise<never> => Promise.resolve({} as never);
  const refuses = (): Promise<never> =>
    Promise.reject(new DynamoFault('conditionFailed', { code: 'ConditionalCheckFailedException', message: 'no' }));

  expect(await senderOn(answers).write(tick, 'mine')).toMatchObject({ kind: 'applied' });
  expect(await senderOn(refuses).write(tick, 'mine')).toMatchObject({ kind: 'refused' });
  expect(warned).toHaveBeenCalledOnce();
  warned.mockRestore();
});

const fault = fc.constantFrom<'throttled' | 'unanswered' | 'hangs'>('throttled', 'unanswered', 'hangs');
const policies = fc.record({
  budgetMs: fc.integer({ min: 1, max: 5_000 }),
  attemptTimeoutMs: fc.integer({ min: 20, max: 3_000 }),
  capMs: fc.integer({ min: 100, max: 4_000 }),
});
/** A sender that never gave up would retry without end, and time would not pass. */
const MOST_ATTEMPTS = 300;

test('a caller gets the error within its budget, and no timer or listener is left, whatever faults it meets', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fault, { minLength: 1, maxLength: 12 }), policies, async (faults, policy) => {
      const { budgetMs, attemptTimeoutMs, capMs } = policy;
      const clock = new CountingClock('2026-01-01T00:00:00Z');
      let [timers, attempts] = [0, 0];
      const after: Clock['after'] = (ms, call) => {
        timers++;
        const cancel = clock.after(ms, call);
        return () => {
          timers--;
          cancel();
        };
      };
      const driver: DynamoDriver = {
        attempt(_kind, _input, signal) {
          if (attempts >= MOST_ATTEMPTS) return Promise.reject(new Error('never gives up'));
          const met = faults[attempts++ % faults.length] ?? 'hangs';
          if (met !== 'hangs') return Promise.reject(new DynamoFault(met, { code: met, message: met }));
          return new Promise((_resolve, reject) => {
            const abort = (): void => reject(new DynamoFault('unanswered', { code: 'Aborted', message: 'too late' }));
            signal.addEventListener('abort', abort, { once: true });
          });
        },
      };
      const ports: Clock = {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        after,
        sleep: (ms, signal) => clock.sleep(ms, signal),
      };
      const runtime = { ...systemRuntime, clock: ports, random: { next: () => 0.5 } };
      const backoff = { baseMs: capMs / 2, capMs };
      const sender = new Sender({ driver, runtime, policy: { attemptTimeoutMs, budgetMs: 60_000, backoff } });
      const tick = takeTick(
        'leasehold',
        { schedule: 'tick', scheduledTime: '18' },
        { by: 'me', now: 0, nonce: 'mine' },
      );
      const gaveUp = new AbortController();

      const sent = sender.write(tick, 'mine', { budgetMs, signal: gaveUp.signal });
      const ended = await clock.runUntil(
        sent.catch((error: unknown) => error),
        () => true,
      );

      expect(ended).toMatchObject({ name: 'StoreUnavailableError' });
      expect(clock.monotonic()).toBeLessThanOrEqual(budgetMs);
      expect([timers, clock.sleeping, getEventListeners(gaveUp.signal, 'abort').length]).toEqual([0, 0, 0]);
    }),
    { seed: 1, numRuns: 60, endOnFailure: true },
  );
});
