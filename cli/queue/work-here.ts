/** Runs a worker in this process over the command's connection, for `leasehold work` and for the worker of `leasehold dev`. */
import type { WorkTotals } from '../../shared/client/run-until-stopped.ts';
import { runUntilStopped } from '../../shared/client/run-until-stopped.ts';
import type { Leasehold } from '../../shared/client/leasehold.ts';
import type { WorkerPorts } from '../../shared/tasks/worker/run-worker.ts';
import type { TaskModule } from '../../shared/tasks/run/task-module.ts';
import type { TaskLog } from '../../shared/tasks/task/context.ts';
import type { TaskSpans } from '../../shared/tasks/tracing/task-spans.ts';
import type { CliConnection } from '../connection.ts';

/** Time for task code to stop after Ctrl+C, before its task is handed back. */
export const GRACE_MS = 5_000;

export interface WorkHereOptions {
  readonly queue: string;
  readonly shards: number;
  readonly concurrency: number;
  readonly sessionTtlMs: number;
  readonly untilDrained: boolean;
  readonly codeVersion?: string | undefined;
  readonly listFinished?: boolean | undefined;
}

interface WorkHerePorts {
  readonly log: TaskLog;
  readonly spans: TaskSpans;
  readonly onEnqueued: WorkerPorts['onEnqueued'];
  /** Absent: the connection's own. */
  readonly leasehold?: Pick<Leasehold, 'session'>;
}

export function workHere(
  work: TaskModule,
  connection: CliConnection,
  { log, spans, onEnqueued, leasehold = connection.leasehold }: WorkHerePorts,
  options: WorkHereOptions,
  handBack: AbortSignal,
): Promise<WorkTotals> {
  const { sessions, gauge, runtime, stopSending } = connection;
  const { store: tasks, queues, schedules } = connection.queue(options.queue, options.shards);
  const client = connection.clientOf({ ...options, payloads: work.payloads });
  return runUntilStopped(
    work,
    { leasehold, tasks, queues, schedules, sessions, gauge, runtime, log, spans, onEnqueued, stopSending, client },
    { ...options, graceMs: GRACE_MS },
    handBack,
  );
}
