/** `leasehold work`: a worker of a queue that goes on until it is stopped: on a laptop, in a container, beside those that are deployed. */
import { Command, Option } from 'commander';
import { ATTEMPT_SPANS, DEFAULT_CONCURRENCY, ENV, MAX_CONCURRENCY } from '../../functions/env.ts';
import { DEFAULT_TTL_MS } from '../../shared/core/lease/timing.ts';
import { HandedBackError } from '../../shared/tasks/task/control.ts';
import type { TaskEvents } from '../../shared/tasks/run/events.ts';
import { loadWork } from '../../shared/tasks/run/work-module.ts';
import type { WorkTotals } from '../../shared/client/keep-at-work.ts';
import { keepAtWork } from '../../shared/client/keep-at-work.ts';
import { openTelemetry } from '../../shared/tasks/tracing/open-telemetry.ts';
import type { AttemptSpans } from '../../shared/tasks/tracing/task-spans.ts';
import { engineWakes } from '../../shared/client/engine-wakes.ts';
import { DEFAULT_ATTEMPT_SPANS, TaskSpans } from '../../shared/tasks/tracing/task-spans.ts';
import { spanOption, wholeNumber } from '../arguments.ts';
import type { Bind, Context } from '../context.ts';
import type { ExitCode } from '../exit.ts';
import { EXIT } from '../exit.ts';
import { printable } from '../output.ts';
import type { QueueOptions } from '../queue/options.ts';
import { queueOption, shardsOption } from '../queue/options.ts';
import { logTo } from '../queue/task-log.ts';
import { untilInterrupted } from '../until-interrupted.ts';

interface Options extends QueueOptions {
  readonly entry: string;
  readonly concurrency: number;
  readonly sessionTtl: number;
  readonly untilDrained?: boolean;
  readonly attemptSpans: AttemptSpans;
}

/** For task code to stop after Ctrl+C, before its task is handed back. */
const GRACE_MS = 5_000;

export function workCommand(bind: Bind): Command {
  const command = new Command('work')
    .summary('run the tasks of a queue, here')
    .description(
      'Claims and runs tasks in this process, as deployed workers do and beside them, and makes tasks of recurring ones that are due. ' +
        'Ctrl+C hands back what runs, its attempts not counted.',
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
        'how long after its last sign of life its tasks are taken over',
        DEFAULT_TTL_MS,
      ),
    )
    .addOption(
      new Option('--attempt-spans <how>', 'how OpenTelemetry spans of attempts hang on the trace of their task')
        .choices(ATTEMPT_SPANS)
        .env(ENV.attemptSpans)
        .default(DEFAULT_ATTEMPT_SPANS),
    )
    .option('--until-drained', 'end when no task is due or running here; with code 1 if tasks died')
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
  const { queue, shards, concurrency, sessionTtl: sessionTtlMs, untilDrained = false } = options;
  const work = await loadWork(options.entry, { events: eventsTo(context) });
  using connection = await context.connect();
  const { leasehold, sessions, gauge, runtime } = connection;
  const { store: tasks, queues, schedules } = connection.queue(queue, shards);
  const log = logTo(context.output);
  const spans = new TaskSpans(openTelemetry, options.attemptSpans);
  const onEnqueued = untilDrained ? undefined : engineWakes({ ...context.settings, clock: runtime.clock }, queue);
  let totals: WorkTotals | undefined;
  await untilInterrupted(async (interrupted) => {
    const handBack = new AbortController();
    interrupted.addEventListener('abort', () => handBack.abort(new HandedBackError('interrupted')));
    totals = await keepAtWork(
      work,
      { leasehold, tasks, queues, schedules, sessions, gauge, runtime, log, spans, onEnqueued },
      { queue, shards, concurrency, sessionTtlMs, untilDrained, graceMs: GRACE_MS },
      handBack.signal,
    );
  });
  const { done = 0, retried = 0, dead = 0, other = 0 } = totals ?? {};
  context.output.answer({ done, retried, dead, other }, () => `${done} done, ${retried} retrying, ${dead} dead`);
  return untilDrained && dead > 0 ? EXIT.failed : EXIT.done;
}

function eventsTo({ output }: Context): TaskEvents {
  return {
    onSettled(task, settlement) {
      output.note(printable(`${settlement} ${task.id} (${task.name}, attempt ${task.attempts})`));
    },
    onBuried(task) {
      output.note(printable(`dead ${task.id} (${task.name}): its workers died`));
    },
  };
}
