import { describe, expect, test } from 'vitest';
import type { AsyncQueueOptions } from '../../../examples/platform/lambda/async-queue.ts';
import { AsyncQueue, LAMBDA_RETRY_TIMING } from '../../../examples/platform/lambda/async-queue.ts';
import type { FunctionSettings } from '../../../examples/platform/lambda/function-settings.ts';
import { localFunction } from '../../../examples/platform/lambda/function-settings.ts';
import type { InvocationResult } from '../../../examples/platform/lambda/outcomes.ts';
import { LambdaEvents } from '../../support/lambda-events.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const FAILURE: InvocationResult = { outcome: 'error', error: { errorType: 'Error', errorMessage: 'no' } };

type Outcome = InvocationResult | 'throttled';

/** A queue whose attempts have the listed outcomes, repeating the last one, under AWS's own timing and the largest jitter. */
function queueWith(outcomes: readonly Outcome[], settings: Partial<FunctionSettings> = {}) {
  const clock = new ManualClock('2026-01-01T00:00:00.000Z');
  const events = new LambdaEvents();
  const attemptedAt: number[] = [];
  const stopping = new AbortController();
  const base = { entry: '/handler.ts', timeoutMs: 1_000, memoryMb: 128, environment: {} };
  const options: AsyncQueueOptions = {
    target: localFunction('work', { ...base, ...settings }),
    attempt: async () => {
      const outcome = outcomes[attemptedAt.length] ?? outcomes.at(-1)!;
      attemptedAt.push(clock.monotonic());
      return outcome;
    },
    timing: LAMBDA_RETRY_TIMING,
    clock,
    random: { next: () => 0.9999 },
    emit: events.record,
    signal: stopping.signal,
  };
  const queue = new AsyncQueue(options);
  let isDone = false;
  void queue.accept({ requestId: 'r1', payload: '{}', invokedFunctionArn: 'arn' }).then(() => {
    isDone = true;
  });
  return { clock, events, attemptedAt, isDone: () => isDone, stopping };
}

describe('an asynchronous event', () => {
  test('is retried one and then two minutes after a function error, as on AWS', async () => {
    const { clock, attemptedAt, events } = queueWith([FAILURE]);

    await clock.advance(60 * MINUTE);

    expect(attemptedAt).toEqual([0, 1 * MINUTE, 3 * MINUTE]);
    expect(events.of('eventDiscarded')).toMatchObject([{ requestId: 'r1', because: 'retriesExhausted' }]);
  });

  test('returns after growing pauses when throttled, at most five minutes apart', async () => {
    const { clock, attemptedAt } = queueWith(['throttled']);

    await clock.advance(30 * MINUTE);

    const pauses = attemptedAt.slice(1).map((at, index) => Math.round((at - attemptedAt[index]!) / SECOND));
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
  });

  test('is given up once it is too old', async () => {
    const { clock, events, isDone } = queueWith(['throttled'], { maximumEventAgeMs: 5 * MINUTE });

    await clock.advance(10 * MINUTE);

    expect(events.of('eventDiscarded')).toMatchObject([{ because: 'tooOld' }]);
    expect(isDone()).toBe(true);
  });
});
