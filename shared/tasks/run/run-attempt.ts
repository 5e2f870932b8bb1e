/** A claimed task, run within the span of its attempt. */
import type { AnyTask } from '../task/definition.ts';
import type { RunningTask } from '../task/task.ts';
import type { TaskSpans } from '../tracing/task-spans.ts';
import type { RunPorts } from './run-claim.ts';
import { runClaim } from './run-claim.ts';
import type { Settlement } from './settle.ts';

/** Runs a claimed task; with `spans`, and if tracing is on, its attempt and the wait before it become spans. */
export async function runAttempt(
  task: RunningTask,
  definition: AnyTask,
  how: { readonly takenOver: boolean },
  ports: RunPorts & { readonly spans?: TaskSpans | undefined },
): Promise<Settlement> {
  const { spans, runtime } = ports;
  const attempt = spans?.attempt(task, how);
  if (spans === undefined || attempt === undefined) return runClaim(task, definition, ports);
  let settlement: Settlement = 'unsettled';
  try {
    settlement = await attempt.within(() => runClaim(task, definition, { ...ports, trace: { spans, attempt } }));
    return settlement;
  } finally {
    spans.endAttempt(attempt, { at: runtime.clock.now(), settlement });
  }
}
