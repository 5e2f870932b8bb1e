/**
 * The worker of `leasehold dev`: a separate process, which its supervisor restarts after code changes and crashes.
 * It reports its running tasks to the supervisor (`messages.ts`), so that a crash counts only against the task that caused it.
 */
import inspector from 'node:inspector';
import module from 'node:module';
import { defined } from '../../shared/core/defined.ts';
import { DEFAULT_ATTEMPT_SPANS, TaskSpans } from '../../shared/tasks/tracing/task-spans.ts';
import { engineWakes } from '../../shared/client/engine-wakes.ts';
import { enqueuedIn } from '../../shared/client/process-enqueues.ts';
import type { Leasehold } from '../../shared/client/leasehold.ts';
import { longestHeartbeatMs } from '../../shared/core/lease/timing.ts';
import { systemRuntime } from '../../shared/core/runtime/runtime.ts';
import { HandedBackError } from '../../shared/tasks/task/control.ts';
import { currentTask } from '../../shared/tasks/task/task-scope.ts';
import { loadModule } from '../../shared/tasks/task/load-module.ts';
import { taskModuleOf } from '../../shared/tasks/run/task-module.ts';
import type { TaskEvents } from '../../shared/tasks/run/events.ts';
import { openTelemetry } from '../../shared/tasks/tracing/open-telemetry.ts';
import { attemptLines } from '../attempts/attempt-lines.ts';
import { prefixConsole } from '../attempts/prefix.ts';
import { connect } from '../connection.ts';
import { EXIT, failureOf } from '../exit.ts';
import { Output } from '../output.ts';
import type { WorkHereOptions } from '../queue/work-here.ts';
import { workHere } from '../queue/work-here.ts';
import type { GlobalOptions } from '../settings.ts';
import { watchForBlocks } from './block-watch.ts';
import { createDevTables } from './dev-tables.ts';
import { enqueueDevTasks } from './dev-tasks.ts';
import { fileVersion } from './file-version.ts';
import { followLoadedFiles } from './loaded-files.ts';
import { named, tellSupervisor } from './messages.ts';

/** Passed as one argument, in JSON. */
export interface DevWorkerSettings {
  readonly entry: string;
  readonly settings: GlobalOptions;
  readonly work: WorkHereOptions;
  /** Folder of compiled modules; see `compile-cache.ts`. */
  readonly compiled?: string | undefined;
}

/** TTL while an inspector is open: the process sends no heartbeat at a breakpoint. `dev` ends the session of a crashed worker itself. */
const INSPECTED_TTL_MS = 3_600_000;

const { entry, settings, work: options, compiled } = JSON.parse(process.argv[2] ?? '') as DevWorkerSettings;
if (compiled !== undefined) module.enableCompileCache(compiled);
process.on('exit', () => {
  const task = currentTask();
  tellSupervisor({ kind: 'exits', ...defined({ task: task && named(task) }) });
  // Without this, Node waits for the debugger to detach.
  inspector.close();
});
const handBack = new AbortController();
process.on('SIGTERM', () => {
  tellSupervisor({ kind: 'stopping' });
  handBack.abort(new HandedBackError('the worker is stopped'));
});
watchForBlocks();
prefixConsole(process);
process.exit(await work());

async function work(): Promise<number> {
  try {
    const load = (file: string, isAlone = false): void =>
      tellSupervisor({ kind: 'loads', file, version: fileVersion(file), ...(isAlone && { isAlone }) });
    if (!followLoadedFiles(load)) load(entry, true);
    const output = new Output({ isJson: settings.json === true, out: process.stdout, err: process.stderr });
    const lines = attemptLines(output, systemRuntime.clock);
    const exports = await loadModule(entry);
    const loaded = taskModuleOf(exports, { events: alsoTold(lines.events) });
    lines.know(loaded.registry);
    using connection = await connect(settings, systemRuntime);
    const tables = await createDevTables(exports, connection);
    const { queue } = options;
    await enqueueDevTasks(exports, connection.leasehold, queue);
    tellSupervisor({ kind: 'ready', tasks: [...loaded.registry.keys()], tables });
    const onEnqueued = enqueuedIn(settings, queue, engineWakes({ ...settings, clock: systemRuntime.clock }, queue));
    const spans = new TaskSpans(openTelemetry, DEFAULT_ATTEMPT_SPANS);
    const leasehold = tellingSessions(connection.leasehold);
    await workHere(
      loaded,
      connection,
      { log: lines.log, spans, onEnqueued, leasehold },
      { ...options, listFinished: true },
      handBack.signal,
    );
    return EXIT.done;
  } catch (error) {
    const { message, exitCode, stack } = failureOf(error, settings.table);
    tellSupervisor({ kind: 'refused', error: message, exitCode, ...defined({ stack }) });
    return exitCode;
  }
}

function alsoTold(events: TaskEvents): TaskEvents {
  return {
    ...events,
    onClaimed(task, how) {
      tellSupervisor({ kind: 'claimed', task: named(task) });
      events.onClaimed?.(task, how);
    },
    onSettled(task, settlement) {
      tellSupervisor({ kind: 'settled', task: named(task), isHandedBack: settlement === 'released' });
      events.onSettled?.(task, settlement);
    },
  };
}

/** Reports a session before it holds anything. */
function tellingSessions(leasehold: Leasehold): Pick<Leasehold, 'session'> {
  return {
    async session(sessionOptions) {
      const isInspected = inspector.url() !== undefined;
      const session = await leasehold.session({
        ...sessionOptions,
        ...(isInspected && { ttl: INSPECTED_TTL_MS, heartbeat: longestHeartbeatMs(options.sessionTtlMs) }),
      });
      tellSupervisor({ kind: 'session', id: session.id });
      return session;
    },
  };
}
