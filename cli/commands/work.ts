/** `leasehold work`: a worker of a queue that goes on until it is stopped: on a laptop, in a container, beside those that are deployed. */
import { Command, Option } from 'commander';
import { ATTEMPT_SPANS, DEFAULT_CONCURRENCY, ENV, MAX_CONCURRENCY } from '../../functions/env.ts';
import { workerName } from '../../shared/dispatch/live-workers.ts';
import { LeaseLostError, StoreUnavailableError } from '../../shared/errors.ts';
import { DEFAULT_TTL_MS } from '../../shared/lease/timing.ts';
import type { SessionEvents } from '../../shared/session/keep-alive.ts';
import { describeBlock } from '../../shared/session/lateness.ts';
import { HandedBackError } from '../../shared/task/control.ts';
import type { TaskRegistry } from '../../shared/task/definition.ts';
import type { TaskEvents } from '../../shared/run/events.ts';
import { loadWork } from '../../shared/run/work-module.ts';
import type { PayloadStore } from '../../shared/task/payload.ts';
import type { Session } from '../../shared/session.ts';
import { standAtWork } from '../../shared/standing-worker.ts';
import { openTelemetry } from '../../shared/tracing/open-telemetry.ts';
import type { AttemptSpans } from '../../shared/tracing/task-spans.ts';
import { DEFAULT_ATTEMPT_SPANS, TaskSpans } from '../../shared/tracing/task-spans.ts';
import type { WorkerReport } from '../../shared/worker/worker.ts';
import { spanOption, wholeNumber } from '../arguments.ts';
import type { Connection, QueueConnection } from '../connection.ts';
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
/** Before it begins again, jittered: after an outage, or with a queue that is paused. */
const RESTART_MS = 1_000;

export function workCommand(bind: Bind): Command {
  const command = new Command('work')
    .summary('run the tasks of a queue, here')
    .description(
      'Claims and runs tasks in this process, as deployed workers do and beside them, and makes tasks of recurring ones that are due. ' +
        'Ctrl+C hands back what runs, its attempts not counted.',
    )
    .requiredOption(
      '--entry <module>',
      'the module that defines the tasks; what it exports as `middleware`, `events` and `payloads` is used as well',
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
  const loaded = await loadWork(options.entry, { events: eventsTo(context) });
  using connection = await context.connect();
  const totals = { done: 0, retried: 0, dead: 0, other: 0 };
  const { clock, random } = context.runtime;
  await untilInterrupted(async (interrupted) => {
    await using sessions = new WorkerSession(connection, options, sessionLog(context));
    const handBack = new AbortController();
    interrupted.addEventListener('abort', () => {
      handBack.abort(new HandedBackError('interrupted'));
    });
    while (!interrupted.aborted) {
      const round = { ...options, ...loaded, sessions, totals, handBack: handBack.signal };
      const ended = await workOnce(context, connection, round);
      if (options.untilDrained === true && ended === 'drained') return;
      await clock.sleep(RESTART_MS * (0.5 + random.next()), interrupted);
    }
  });
  context.output.answer(totals, () => `${totals.done} done, ${totals.retried} retrying, ${totals.dead} dead`);
  return options.untilDrained === true && totals.dead > 0 ? EXIT.failed : EXIT.done;
}

/** Tasks, by how they ended here; those of a pack one by one, unless it is buried with its workers. */
interface Totals {
  done: number;
  retried: number;
  dead: number;
  other: number;
}

interface Round extends Options {
  readonly registry: TaskRegistry;
  readonly payloads: PayloadStore | undefined;
  readonly events: TaskEvents | undefined;
  readonly totals: Totals;
  readonly handBack: AbortSignal;
  readonly sessions: WorkerSession;
}

/**
 * The session of a worker for as long as it lives; one that was lost is followed by another.
 * An idle worker so writes heartbeats, and no more.
 */
class WorkerSession implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #options: Options;
  readonly #events: SessionEvents;
  #session: Session | undefined;

  constructor(connection: Connection, options: Options, events: SessionEvents) {
    this.#connection = connection;
    this.#options = options;
    this.#events = events;
  }

  async current(): Promise<Session> {
    if (this.#session === undefined || this.#session.signal.aborted) {
      const { queue, sessionTtl } = this.#options;
      this.#session = await this.#connection.leasehold.session({
        ...{ name: workerName(queue), ttl: sessionTtl, lockDelay: 0, events: this.#events },
      });
    }
    return this.#session;
  }

  /** What the store is gone for expires. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session?.end().catch((error: unknown) => {
      if (!(error instanceof StoreUnavailableError)) throw error;
    });
  }
}

/**
 * Until it is told to go, or has nothing to do if it only drains;
 * a session that was lost, and a store that is gone for a while, are followed by another.
 */
async function workOnce(context: Context, connection: Connection, round: Round): Promise<WorkerReport['ended']> {
  const { runtime, output } = context;
  const { gauge, sessions } = connection;
  const there: QueueConnection = connection.queue(round.queue, round.shards);
  const log = logTo(output);
  try {
    const spans = new TaskSpans(openTelemetry, round.attemptSpans);
    const session = await round.sessions.current();
    const report = await standAtWork(
      round.registry,
      {
        ...{ tasks: there.store, queues: there.queues, schedules: there.schedules, sessions, gauge, runtime, log },
        ...{ session: session.holder, events: round.events, payloads: round.payloads, spans },
      },
      {
        ...{ queue: round.queue, shards: round.shards, concurrency: round.concurrency },
        ...{ graceMs: GRACE_MS, untilDrained: round.untilDrained === true },
      },
      round.handBack,
    );
    count(report, round.totals);
    return report.ended;
  } catch (error) {
    if (error instanceof LeaseLostError) return 'sessionLost';
    if (!(error instanceof StoreUnavailableError)) throw error;
    log.error('store unavailable, trying again', { error: error.message });
    return 'storeUnavailable';
  }
}

function sessionLog({ output }: Context): SessionEvents {
  const log = logTo(output);
  return {
    onBlocked: (lateMs) => {
      log.warn('event loop blocked', { lateMs, error: describeBlock(lateMs) });
    },
    onLost: ({ message: error, reason }) => {
      log.error('session lost', { error, reason });
    },
  };
}

function count({ settled: { done, retried, dead, ...others }, buried }: WorkerReport, totals: Totals): void {
  totals.done += done;
  totals.retried += retried;
  totals.dead += dead + buried;
  totals.other += Object.values(others).reduce((sum, tasks) => sum + tasks, 0);
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
