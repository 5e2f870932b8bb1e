/** A claimed task or pack, run within the span of its attempt. */
import type { AnyTask } from '../task/definition.ts';
import { isPack } from '../task/pack.ts';
import type { RunningTask } from '../task/task.ts';
import type { TaskSpans } from '../tracing/task-spans.ts';
import { runClaim } from '../run/run-claim.ts';
import type { ClaimReport, RunPackPorts } from './run-pack.ts';
import { runPack } from './run-pack.ts';

/** Runs a claimed task or pack; with `spans`, and if tracing is on, its attempt and the wait before it become spans. */
export async function runTaskOrPack(
  task: RunningTask,
  definition: AnyTask,
  how: { readonly takenOver: boolean },
  ports: RunPackPorts & { readonly spans?: TaskSpans | undefined },
): Promise<ClaimReport> {
  const { spans, runtime } = ports;
  const attempt = spans?.attempt(task, how);
  if (spans === undefined || attempt === undefined) return runUntraced(task, definition, ports);
  let settlement = 'unsettled';
  try {
    const report = await attempt.within(() => runUntraced(task, definition, { ...ports, trace: { spans, attempt } }));
    settlement = report.settlement;
    return report;
  } finally {
    spans.endAttempt(attempt, { at: runtime.clock.now(), settlement });
  }
}

async function runUntraced(task: RunningTask, definition: AnyTask, ports: RunPackPorts): Promise<ClaimReport> {
  if (isPack(task)) return runPack(task, definition, ports);
  const settlement = await runClaim(task, definition, ports);
  return { settlement, settled: { [settlement]: 1 } };
}
