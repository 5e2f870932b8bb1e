/**
 * Logs requests that DynamoDB throttled, immediately, because a worker that is killed later reports nothing.
 * The error names the limit, and the table or index. The key is the row's, and contains its partition.
 */
import type { Clock } from '../shared/core/runtime/clock.ts';
import { targetOf } from '../shared/dynamo/engine/send-errors.ts';
import type { SendObserver } from '../shared/dynamo/engine/send.ts';

/** Pause between two lines about one operation, because a throttled table refuses thousands of requests. */
const INTERVAL_MS = 10_000;

export function throttleLog(
  logger: { readonly warn: (message: string, extra: Record<string, unknown>) => void },
  clock: Pick<Clock, 'monotonic'>,
): SendObserver {
  const toldAt = new Map<string, number>();
  return {
    onAttempt({ statement: { verb, input }, fault }) {
      if (fault?.kind !== 'throttled') return;
      const now = clock.monotonic();
      if (now - (toldAt.get(verb) ?? -Infinity) < INTERVAL_MS) return;
      toldAt.set(verb, now);
      logger.warn('store throttled', { verb, key: targetOf(input).keys[0], error: fault.message });
    },
  };
}
