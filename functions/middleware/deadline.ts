/**
 * A signal that aborts `marginMs` before Lambda stops the process, so that work can be handed back in time.
 * Lambda itself gives no warning: a timeout is a SIGKILL.
 */
import type { MiddlewareObj } from '@middy/core';
import { assert } from '../../shared/core/errors.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import { HandedBackError } from '../../shared/tasks/task/control.ts';
import type { Context } from './lambda-context.ts';

interface Deadline {
  /** Aborts with a `HandedBackError`. */
  readonly signal: AbortSignal;
  /** When it aborts, by the monotonic clock. */
  readonly monotonicMs: number;
}

const deadlines = new WeakMap<Context, Deadline>();

export function deadline(options: { readonly marginMs: number; readonly clock: Clock }): MiddlewareObj {
  const { marginMs, clock } = options;
  const timers = new WeakMap<Context, AbortController>();
  const stopTimer = ({ context }: { readonly context: Context }): void => {
    timers.get(context)?.abort();
  };
  return {
    name: 'deadline',
    before: ({ context }) => {
      const restMs = Math.max(0, context.getRemainingTimeInMillis() - marginMs);
      const handBack = new AbortController();
      const timer = new AbortController();
      timers.set(context, timer);
      deadlines.set(context, { signal: handBack.signal, monotonicMs: clock.monotonic() + restMs });
      void clock.sleep(restMs, timer.signal).then(() => {
        if (!timer.signal.aborted)
          handBack.abort(
            new HandedBackError(`the invocation ends in ${marginMs} ms: stop, and the task will be handed back`, {
              isDeadline: true,
            }),
          );
      });
    },
    // No timer outlives the handler: a frozen one would fire in a later invocation.
    after: stopTimer,
    onError: stopTimer,
  };
}

export function deadlineOf(context: Context): Deadline {
  const found = deadlines.get(context);
  assert(found !== undefined, 'the deadline middleware has not run for this invocation');
  return found;
}
