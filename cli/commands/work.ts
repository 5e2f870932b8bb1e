/** `leasehold work`: a long-running worker of a queue, on a laptop or in a container, alongside deployed workers. */
import { Command, Option } from 'commander';
import { ATTEMPT_SPANS, DEFAULT_CONCURRENCY, ENV, MAX_CONCURRENCY } from '../../functions/env.ts';
import { DEFAULT_TTL_MS } from '../../shared/core/lease/timing.ts';
import { boundLog } from '../../shared/tasks/task/context.ts';
import { HandedBackError } from '../../shared/tasks/task/control.ts';
import { loadTaskModule } from '../../shared/tasks/run/task-module.ts';
import type { WorkTotals } from '../../shared/client/run-until-stopped.ts';
import { openTelemetry } from '../../shared/tasks/tracing/open-telemetry.ts';
import type { AttemptSpans } from '../../shared/tasks/tracing/task-spans.ts';
import { engineWakes } from '../../shared/client/engine-wakes.ts';
import { TasksAtWork } from '../../shared/client/tasks-at-work.ts';
import { enqueuedIn } from '../../shared/client/process-enqueues.ts';
import { DEFAULT_ATTEMPT_SPANS, TaskSpans } from '../../shared/tasks/tracing/task-spans.ts';
import { name, spanOption, wholeNumber } from '../arguments.ts';
import { attemptLines } from '../attempts/attempt-lines.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { EXIT } from '../exit.ts';
import type { QueueOptions } from '../queue/options.ts';
import { queueOption, shardsOption } from '../queue/options.ts';
import { workHere } from '../queue/work-here.ts';
import { untilInterrupted } from '../until-interrupted.ts';

interface Options extends QueueOptions {
  readonly entry: string;
  readonly concurrency: number;
  readonly sessionTtl: number;
  readonly untilDrained?: boolean;
  readonly codeVersion?: string;
  readonly listFinished?: boolean;
  readonly attemptSpans: AttemptSpans;
}

export function workCommand(bind: Bind): Command {
  const command = new Command('work')
    .summary('run the tasks of a queue on this machine')
    .description(
      'Runs tasks in this process, alongside any deployed workers, and enqueues due schedules. ' +
        'Ctrl+C hands running tasks back without counting the attempts.',
    )
    .requiredOption(
      '--entry <module>',
      'the module that defines the tasks; what it exports as `middleware`, `events`, `payloads` and `schedules` is used as well',
    )
    .addOption(queueOption())
    .addOption(shardsOption())
    .option('--concurrency <n>', 'tasks at once', wholeNumber(1, MAX_CONCURRENCY), DEFAULT_CONCURRENCY)
    .addOption(
      spanOption(
        '--session-ttl <span>',
        'session TTL: how long after its last heartbeat other workers take over its tasks',
        DEFAULT_TTL_MS,
      ),
    )
    .addOption(
      new Option('--code-version <text>', 'version of your code, such as a commit: `tasks show` names it')
        .env(ENV.codeVersion)
        .argParser(name),
    )
    .addOption(
      new Option('--attempt-spans <how>', 'how OpenTelemetry spans of attempts relate to the trace of their task')
        .choices(ATTEMPT_SPANS)
        .env(ENV.attemptSpans)
        .default(DEFAULT_ATTEMPT_SPANS),
    )
    .option(
      '--list-finished',
      'list finished tasks, for tasks list --state done: one write unit more for each task, 6 in place of 5',
    )
    .option('--no-list-finished', 'do not list finished tasks any more (default: as the queue did before)')
    .option(
      '--until-drained',
      'end when no task is due or running here, nor retried within a second; exit code 1 if tasks died',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ leasehold work --entry src/tasks.ts --endpoint http://127.0.0.1:8000
  $ leasehold work --entry src/tasks.ts --queue mail --concurrency 50 --until-drained`,
    );
  return bind<Options>(command, work);
}

async function work(context: Context, options: Options): Promise<ExitCode> {
  const {
    queue,
    shards,
    concurrency,
    sessionTtl: sessionTtlMs,
    untilDrained = false,
    codeVersion,
    listFinished,
  } = options;
  const lines = attemptLines(context.output, context.runtime.clock);
  const work = await loadTaskModule(options.entry, { events: lines.events });
  lines.know(work.registry);
  using connection = await context.connect();
  const spans = new TaskSpans(openTelemetry, options.attemptSpans);
  const wakes = { ...context.settings, clock: connection.runtime.clock };
  const onEnqueued = untilDrained ? undefined : enqueuedIn(context.settings, queue, engineWakes(wakes, queue));
  let totals: WorkTotals | undefined;
  const atWork = new TasksAtWork();
  using _exit = atWork.atExit((message) => {
    context.output.error(message, EXIT.failed);
    // Otherwise a script would take a drained queue for granted.
    if (process.exitCode === undefined || process.exitCode === 0) process.exitCode = EXIT.failed;
  });
  await untilInterrupted(async (interrupted) => {
    const handBack = new AbortController();
    interrupted.addEventListener('abort', () => handBack.abort(new HandedBackError('interrupted')));
    totals = await workHere(
      { ...work, events: atWork.events(work.events) },
      connection,
      { log: boundLog(lines.log, { queue }), spans, onEnqueued },
      { queue, shards, concurrency, sessionTtlMs, untilDrained, codeVersion, listFinished },
      handBack.signal,
    );
  });
  const { done = 0, retried = 0, dead = 0, other = 0 } = totals ?? {};
  context.output.answer({ done, retried, dead, other }, () => `${done} done, ${retried} retried, ${dead} dead`);
  return untilDrained && dead > 0 ? EXIT.failed : EXIT.done;
}
