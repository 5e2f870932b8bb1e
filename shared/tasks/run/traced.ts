/** The span of the write that ends an attempt. */
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { RunningTask } from '../task/task.ts';
import type { TaskSpans } from '../tracing/task-spans.ts';
import type { Span } from '../tracing/tracing.ts';
import type { Settlement } from './settle.ts';

/** Trace of an attempt; the spans of its code and its operations are inside the attempt's span. */
export interface AttemptTrace {
  readonly spans: TaskSpans;
  readonly attempt: Span | undefined;
}

/** Operation names by settlement, for operations without a name given by task code. */
const VERBS: Readonly<Record<Settlement, string>> = {
  done: 'complete',
  retried: 'retry',
  dead: 'discard',
  released: 'release',
  snoozed: 'snooze',
  suspended: 'suspend',
  cancelled: 'give_up',
  lost: 'settle',
  unsettled: 'settle',
};

/**
 * Begins the span of the write that ends a claim, if tracing is on.
 * @param name of the operation. Default: derived from its settlement
 */
export function spanOfEnd(
  task: RunningTask,
  { trace, runtime }: { readonly trace?: AttemptTrace | undefined; readonly runtime: Runtime },
  settlement: Settlement | undefined,
  name: string | undefined,
): Span | undefined {
  if (trace === undefined || settlement === undefined) return undefined;
  return trace.spans.settle(name ?? VERBS[settlement], task, { at: runtime.clock.now(), within: trace.attempt });
}
