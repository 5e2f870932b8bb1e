/**
 * Prints the outcome of a worker's tasks for a terminal: one line each. A failure is a block with the task's name, id, attempt and
 * duration, the error with the user's frames, its causes, and the command that retries the task.
 *
 * If the output is not a terminal, a log record is one JSON object per line instead.
 */
import { styleText } from 'node:util';
import { logText } from '../../shared/client/log-text.ts';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import type { TaskEvents } from '../../shared/tasks/run/events.ts';
import type { Settlement } from '../../shared/tasks/run/settle.ts';
import type { Thrown } from '../../shared/tasks/run/thrown.ts';
import type { TaskLog } from '../../shared/tasks/task/context.ts';
import type { TaskRegistry } from '../../shared/tasks/task/definition.ts';
import { retryOf } from '../../shared/tasks/task/definition.ts';
import { currentTask } from '../../shared/tasks/task/task-scope.ts';
import type { RunningTask, TaskError } from '../../shared/tasks/task/task.ts';
import type { Output } from '../output.ts';
import { printable, queueFlag, shellWord, span } from '../output.ts';
import { framesOf } from './frames.ts';
import { prefixOf } from './prefix.ts';

/** Listens to a worker and prints its lines. */
interface AttemptLines {
  readonly log: TaskLog;
  readonly events: TaskEvents;
  /** The definitions, once loaded. They determine a task's maximum attempts. */
  know(registry: TaskRegistry): void;
}

export function attemptLines(output: Output, clock: Clock): AttemptLines {
  return output.err.isTTY ? new TerminalLines(output, clock) : plainLines(output, clock);
}

function plainLines(output: Output, clock: Clock): AttemptLines {
  return {
    log: logOf((level, message, fields) => {
      const time = new Date(clock.now()).toISOString();
      output.note(logText({ time, level, message, ...fields }));
    }),
    events: {
      onSettled: (task, settlement) =>
        output.note(printable(`${settlement} ${task.id} (${task.name}, attempt ${task.attempts})`)),
      onDied: (task) => output.note(printable(`dead ${task.id} (${task.name}): its workers died`)),
    },
    know: () => undefined,
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** Omits the workers' debug records. */
function logOf(write: (level: string, message: string, fields: Fields) => void): TaskLog {
  const at =
    (level: string): TaskLog['info'] =>
    (message, ...extra) =>
      write(level, message, Object.assign({}, ...extra) as Fields);
  return { debug: () => undefined, info: at('info'), warn: at('warn'), error: at('error') };
}

class TerminalLines implements AttemptLines {
  readonly log = logOf((level, message, fields) => this.#record(level, message, fields));
  readonly events: TaskEvents = {
    onClaimed: (task) => void this.#startedAt.set(task.id, this.#clock.monotonic()),
    onSettled: (task, settlement) => this.#settled(task, settlement),
    onDied: (task, error) => this.#failed(task, 'dead', error),
  };
  readonly #output: Output;
  readonly #clock: Clock;
  #registry: TaskRegistry = new Map();
  /** By id: the start of this worker's claims, and the errors of failed ones. */
  readonly #startedAt = new Map<string, number>();
  readonly #thrown = new Map<string, Thrown>();

  constructor(output: Output, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
  }

  know(registry: TaskRegistry): void {
    this.#registry = registry;
  }

  /** A failure is printed together with the end of its claim a moment later; everything else is printed at once. */
  #record(level: string, message: string, record: Fields): void {
    const { task, error } = record;
    if ((message === FAILED || message === DEAD) && typeof task === 'string') {
      if (this.#startedAt.has(task)) this.#thrown.set(task, error as Thrown);
      // A task marked dead with its worker was already reported as an event.
      else if (message === FAILED) this.#failedApart(task, record);
      return;
    }
    const isOfCode = task === currentTask()?.id;
    const fields = Object.entries(record).filter(([name]) => !(isOfCode && OF_ATTEMPT.has(name)));
    const all = Object.fromEntries(fields);
    const text = Object.keys(all).length === 0 ? message : `${message} ${logText(all)}`;
    const style = level === 'error' ? 'red' : level === 'warn' ? 'yellow' : 'dim';
    this.#say(`${prefixOf(this.#output.err)}${this.#styled(style, level.padEnd(5))} ${printable(text)}`);
  }

  /** For a task that is run by hand, other code prints the end. */
  #failedApart(task: string, { name, attempt, error, then }: Fields): void {
    const words = [name, task].filter((word) => typeof word === 'string').join(' ');
    const end = then === 'dead' ? WORDS.dead : WORDS.retried;
    const head = `${this.#styled('red', '✗')} ${printable(words)}  attempt ${String(attempt)} → ${end}`;
    this.#say([head, ...this.#errorLines(error as Thrown)].join('\n'));
  }

  #settled(task: RunningTask, settlement: Settlement): void {
    const thrown = this.#thrown.get(task.id);
    if (settlement === 'dead' || settlement === 'retried') this.#failed(task, settlement, thrown);
    else {
      const isDone = settlement === 'done';
      const how = isDone ? '' : ` → ${WORDS[settlement]}`;
      const mark = isDone ? this.#styled('green', '✓') : '·';
      this.#say(`${mark} ${nameOf(task)}  ${this.#attempt(task)}${how}`);
    }
    this.#startedAt.delete(task.id);
    this.#thrown.delete(task.id);
  }

  #failed(task: RunningTask, settlement: 'dead' | 'retried', thrown: Thrown | TaskError | undefined): void {
    this.#say(
      [
        `${this.#styled('red', '✗')} ${nameOf(task)}  ${this.#attempt(task)} → ${WORDS[settlement]}`,
        ...(thrown === undefined ? [] : this.#errorLines(thrown)),
        `  ${this.#styled('dim', 'again:')} leasehold tasks retry ${shellWord(task.id)}${queueFlag(task.queue)}`,
      ].join('\n'),
    );
  }

  #errorLines(thrown: Thrown | TaskError, before = ''): string[] {
    const { name, message } = thrown;
    const lines = [`  ${before}${this.#styled('bold', printable(name))}: ${indented(message)}`];
    const { own, others } = framesOf('stack' in thrown ? (thrown.stack ?? '') : '', message);
    const counts = Object.entries(others).flatMap(([whose, count]) => (count === 0 ? [] : [`${count} of ${whose}`]));
    const folded = counts.length === 0 ? '' : this.#styled('dim', `(+${counts.join(', ')})`);
    lines.push(
      ...own.map((frame, at) => `    ${printable(frame)}${at === own.length - 1 && folded ? `  ${folded}` : ''}`),
    );
    if (own.length === 0 && folded !== '') lines.push(`    ${folded}`);
    const cause = 'cause' in thrown ? thrown.cause : undefined;
    return cause === undefined ? lines : [...lines, ...this.#errorLines(cause, 'caused by ')];
  }

  /** `attempt 2/5, 12 ms`. Omits the number of a first attempt that is also the last. */
  #attempt(task: RunningTask): string {
    const definition = this.#registry.get(task.name);
    const most = definition && retryOf(definition, task).maxAttempts;
    const of = most === undefined || !Number.isFinite(most) ? '' : `/${most}`;
    const startedAt = this.#startedAt.get(task.id);
    const tookMs = startedAt === undefined ? undefined : this.#clock.monotonic() - startedAt;
    const attempt = `attempt ${task.attempts}${of}`;
    return tookMs === undefined ? attempt : `${attempt}, ${took(tookMs)}`;
  }

  #say(text: string): void {
    this.#output.note(text);
  }

  #styled(style: Parameters<typeof styleText>[0], text: string): string {
    return styleText(style, text, { stream: this.#output.err });
  }
}

const FAILED = 'task attempt failed';
const DEAD = 'task is dead';
/** Fields of a record that the line's mark already shows. */
const OF_ATTEMPT: ReadonlySet<string> = new Set(['time', 'queue', 'task', 'name', 'attempt']);

const WORDS: Readonly<Record<Settlement, string>> = {
  done: 'done',
  retried: 'tried again',
  dead: 'dead',
  released: 'handed back',
  snoozed: 'snoozed',
  suspended: 'waits',
  cancelled: 'cancelled',
  lost: 'lost to another worker',
  unsettled: 'undecided: the store did not answer',
};

function nameOf({ name, id }: RunningTask): string {
  return printable(`${name} ${id}`);
}

function took(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : span(ms);
}

/** Returns the lines of a message after the first. */
function indented(message: string): string {
  return message.split('\n').map(printable).join('\n  ');
}
