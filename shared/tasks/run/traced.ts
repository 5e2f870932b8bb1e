/** The span of the write that ends an attempt. */
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { RunningTask } from '../task/task.ts';
import type { TaskSpans } from '../tracing/task-spans.ts';
import type { Span } from '../tracing/tracing.ts';
import { sendWithin } from '../tracing/tracing.ts';
import type { Settlement } from './settle.ts';

/** What a run traces to; the spans of its code and its verbs are within that of its attempt. */
export interface AttemptTrace {
  readonly spans: TaskSpans;
  readonly attempt: Span | undefined;
}

/** By what they lead to, where task code does not ask for them by a name of its own. */
const VERBS: Readonly<Record<Settlement, string>> = {
  done: 'complete',
  retried: 'retry',
  dead: 'discard',
  released: 'release',
  snoozed: 'snooze',
  cancelled: 'give_up',
  lost: 'settle',
  unsettled: 'settle',
};

/**
 * Runs a request of a verb within a span of its own, if the verb ends the claim and anything listens.
 * @param name of the verb; absent: by its settlement
 */
export function tracedEnd(
  task: RunningTask,
  { trace, runtime }: { readonly trace?: AttemptTrace | undefined; readonly runtime: Runtime },
  settlement: Settlement | undefined,
  name: string | undefined,
): (send: () => Promise<boolean>) => Promise<boolean> {
  return async (send) => {
    if (trace === undefined || settlement === undefined) return send();
    const { clock } = runtime;
    const within = trace.attempt;
    const span = trace.spans.settle(name ?? VERBS[settlement], task, { at: clock.now(), within });
    return sendWithin(span, clock, send, (isApplied) => isApplied);
  };
}
