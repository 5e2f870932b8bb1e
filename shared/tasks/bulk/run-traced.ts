/** A claim that is run within the span of its attempt. */
import type { RunningTask } from '../task/task.ts';
import type { AnyTask } from '../task/definition.ts';
import type { TaskSpans } from '../tracing/task-spans.ts';
import type { ClaimReport, RunPackPorts } from './run-pack.ts';
import { runTaskOrPack } from './run-pack.ts';

/** Runs a claimed task; with `spans`, and if tracing is on, its attempt and the wait before it become spans. */
export async function runTraced(
  task: RunningTask,
  definition: AnyTask,
  how: { readonly takenOver: boolean },
  ports: RunPackPorts & { readonly spans?: TaskSpans | undefined },
): Promise<ClaimReport> {
  const { spans, runtime } = ports;
  const attempt = spans?.attempt(task, how);
  if (spans === undefined || attempt === undefined) return runTaskOrPack(task, definition, ports);
  let settlement = 'unsettled';
  try {
    const report = await attempt.within(() => runTaskOrPack(task, definition, { ...ports, trace: { spans, attempt } }));
    settlement = report.settlement;
    return report;
  } finally {
    spans.endAttempt(attempt, { at: runtime.clock.now(), settlement });
  }
}
