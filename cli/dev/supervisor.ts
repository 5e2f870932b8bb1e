/**
 * The supervisor of `leasehold dev`: keeps one worker running, and restarts it after code changes and crashes.
 *
 * | event | reaction |
 * | --- | --- |
 * | a loaded file is saved | the worker hands back its tasks and ends; a new one starts |
 * | the module cannot be loaded | its error is printed; the next save starts a worker |
 * | the worker's process ends by itself | the task that ended it is taken over and counted, others are handed back; a new worker starts |
 * | its event loop blocks for five seconds | the blocking task is named |
 * | … and something is saved, or Ctrl+C | the worker is killed; all its tasks are handed back |
 * | … and its lease would be lost in a deployment | the worker is killed; the task is taken over and counted, others are handed back |
 * | Ctrl+C | the worker hands back its tasks and ends, or is killed if it does not answer |
 *
 * A worker with an open inspector may be at a breakpoint: only a second Ctrl+C kills it.
 */
import { styleText } from 'node:util';
import { shortest } from '../attempts/frames.ts';
import type { CurrentTask } from '../../shared/tasks/task/task-scope.ts';
import type { CliConnection, QueueConnection } from '../connection.ts';
import type { Context } from '../context.ts';
import { CommandError } from '../exit.ts';
import { plural, printable } from '../output.ts';
import { GRACE_MS } from '../queue/work-here.ts';
import { settleBereaved } from './bereaved.ts';
import { CodeWatch } from './code-watch.ts';
import type { WorkerMessage } from './messages.ts';
import type { DevWorkerSettings } from './worker.ts';
import type { Ready } from './worker-process.ts';
import { WorkerProcess, spawnWorker } from './worker-process.ts';

/** Time for a worker to acknowledge the stop request. Killing a slow worker loses nothing. */
const ANSWER_MS = 2_000;
/** Time for a worker that has acknowledged the request to hand back its tasks and end. */
const STOP_MS = GRACE_MS + 5_000;
/** Pause between a crash and the next worker. It doubles with each crash of a short-lived worker for which no task is known. */
const AGAIN_MS = { first: 1_000, most: 30_000, livedLong: 60_000 };
/** A block is reported after five seconds. */
const BLOCK_TOLD_MS = 5_000;

interface SupervisorPorts {
  readonly context: Pick<Context, 'runtime' | 'output' | 'environment'>;
  readonly connection: Pick<CliConnection, 'leasehold' | 'runtime'>;
  readonly queue: Pick<QueueConnection, 'queue' | 'store'>;
  /** Starts the process of a worker. Default: the module `worker.ts`, in a separate process. */
  readonly start?: typeof spawnWorker;
}

type Cause =
  | { readonly kind: 'ended'; readonly how: string }
  | { readonly kind: 'changed'; readonly file: string }
  | { readonly kind: 'interrupted' | 'lost' };

export class Supervisor {
  readonly #ports: SupervisorPorts;
  readonly #settings: DevWorkerSettings;
  readonly #watch: CodeWatch;
  readonly #interrupted: AbortSignal;
  readonly #interruption: Promise<undefined>;
  #isFirst = true;
  #againMs = AGAIN_MS.first;

  constructor(ports: SupervisorPorts, settings: DevWorkerSettings, interrupted: AbortSignal) {
    this.#ports = ports;
    this.#settings = settings;
    this.#interrupted = interrupted;
    this.#interruption = aborted(interrupted);
    this.#watch = new CodeWatch(ports.context.runtime.clock);
  }

  /**
   * Runs until it is interrupted.
   * @param onReady called when the first worker has started
   * @throws CommandError if the first worker cannot load the module
   */
  async run(onReady: (ready: Ready) => void): Promise<void> {
    using watch = this.#watch;
    for (let number = 1; !this.#interrupted.aborted; number++) {
      watch.reset();
      const cause = await this.#superviseOne(number, onReady);
      if (cause.kind === 'changed') this.#againMs = AGAIN_MS.first;
    }
  }

  /** Runs one worker from its start to its end, and pauses afterwards. */
  async #superviseOne(number: number, onReady: (ready: Ready) => void): Promise<Cause> {
    const { clock } = this.#ports.context.runtime;
    const lost = new AbortController();
    const startedAt = clock.monotonic();
    const { start = spawnWorker, context } = this.#ports;
    const child = start(this.#settings, context.environment);
    const worker: WorkerProcess = new WorkerProcess(child, (message) => this.#hear(worker, message, lost));
    void worker.ready.then((ready) => {
      if (this.#isFirst) onReady(ready);
      this.#isFirst = false;
    });
    const cause = await this.#causeOfEnd(worker, lost.signal);
    if (cause.kind !== 'ended') await this.#stop(worker, cause);
    lost.abort();
    const livedMs = clock.monotonic() - startedAt;
    await this.#after(worker, cause, { number, livedMs });
    return cause;
  }

  async #causeOfEnd(worker: WorkerProcess, lost: AbortSignal): Promise<Cause> {
    using over = this.#scope();
    return await Promise.race<Cause>([
      worker.ended.then((how) => ({ kind: 'ended', how })),
      this.#watch.changed(over.signal).then((file = '') => ({ kind: 'changed', file })),
      aborted(lost).then(() => ({ kind: 'lost' })),
      this.#interruption.then(() => ({ kind: 'interrupted' })),
    ]);
  }

  #hear(worker: WorkerProcess, message: WorkerMessage, lost: AbortController): void {
    const { clock } = this.#ports.context.runtime;
    if (message.kind === 'loads') {
      this.#watch.add(message.file, message.version);
      if (message.isAlone === true)
        this.#say(
          'yellow',
          'note',
          `this Node does not tell what ${shortest(message.file)} imports: only its own saves are followed`,
        );
    }
    if (message.kind !== 'blocked') return;
    const { task, place } = message;
    const by = task === undefined ? this.#whileRunning(worker) : ` by ${nameOf(task)}`;
    this.#say('red', 'stuck', `event loop blocked for 5 s${by}${place === undefined ? '' : `, ${place}`}`);
    // As in a deployment, where a session ends if it is not renewed for that long.
    const untilLostMs = Math.max(0, this.#settings.work.sessionTtlMs - BLOCK_TOLD_MS);
    void clock.sleep(untilLostMs, lost.signal).then(() => {
      if (worker.blocked === message && !worker.isInspected) lost.abort();
    });
  }

  /** Asks a worker to stop, and kills it if it does not answer. */
  async #stop(worker: WorkerProcess, cause: Cause): Promise<void> {
    if (cause.kind === 'lost') {
      worker.kill();
      await worker.ended;
      return;
    }
    worker.askToStop();
    const answered = Promise.race([worker.stopping, worker.ended]);
    if (await this.#within(ANSWER_MS, answered, worker)) await this.#within(STOP_MS, worker.ended, worker);
    worker.kill();
    await worker.ended;
  }

  /** Whether it happened in time. An open inspector suspends the time. */
  async #within(ms: number, event: Promise<unknown>, worker: WorkerProcess): Promise<boolean> {
    using over = this.#scope();
    const { clock } = this.#ports.context.runtime;
    const happened = event.then(() => true);
    if (await Promise.race([happened, clock.sleep(ms, over.signal).then(() => false)])) return true;
    if (!worker.isInspected) return false;
    this.#say(
      'yellow',
      'waiting',
      'the worker does not answer, and an inspector is open; Ctrl+C again ends everything',
    );
    return await happened;
  }

  async #after(
    worker: WorkerProcess,
    cause: Cause,
    { number, livedMs }: { readonly number: number; readonly livedMs: number },
  ): Promise<void> {
    const { refused, atWork } = worker;
    const culprit = cause.kind === 'ended' ? worker.culprit : cause.kind === 'lost' ? worker.blocked?.task : undefined;
    // Attempts do not count if the worker was stopped by hand. After a crash without a known task, any task may be the cause.
    const isByHand = cause.kind === 'changed' || cause.kind === 'interrupted';
    const innocent = isByHand ? atWork : culprit === undefined ? [] : atWork.filter(({ id }) => id !== culprit.id);
    const settled = await this.#settle(worker, innocent);
    const handedBack = [...worker.handedBack, ...settled];
    switch (cause.kind) {
      case 'interrupted':
        return;
      case 'changed':
        this.#say('cyan', 'changed', `${shortest(cause.file)} → worker ${number + 1}${handedBackText(handedBack)}`);
        return;
      case 'ended':
        if (refused !== undefined) await this.#refuse(refused.error, refused);
        else await this.#crash(cause.how, worker, { culprit, handedBack, livedMs });
        return;
      case 'lost':
        this.#say('red', 'killed', `its lease is lost: ${nameOf(culprit)}${handedBackText(handedBack)}`);
    }
  }

  async #settle(worker: WorkerProcess, innocent: readonly CurrentTask[]): Promise<readonly CurrentTask[]> {
    const { session } = worker;
    if (session === undefined) return [];
    return settleBereaved({ session, innocent }, this.#ports.connection, this.#ports.queue);
  }

  /** Only a code change can help. */
  async #refuse(
    error: string,
    { exitCode, stack }: { readonly exitCode: number; readonly stack?: string },
  ): Promise<void> {
    const { output } = this.#ports.context;
    if (this.#isFirst) throw new CommandError(exitCode, error);
    output.error(error, exitCode);
    if (stack !== undefined) output.note(stack.split('\n').map(printable).join('\n'));
    this.#say('yellow', 'waiting', 'for a change of the code');
    using over = this.#scope();
    const file = await Promise.race([this.#watch.changed(over.signal), this.#interruption]);
    if (file !== undefined) this.#say('cyan', 'changed', shortest(file));
  }

  async #crash(
    how: string,
    worker: WorkerProcess,
    {
      culprit,
      handedBack,
      livedMs,
    }: {
      readonly culprit: CurrentTask | undefined;
      readonly handedBack: readonly CurrentTask[];
      readonly livedMs: number;
    },
  ): Promise<void> {
    const { clock } = this.#ports.context.runtime;
    // The end of a task's attempts is handled elsewhere.
    if (culprit !== undefined || livedMs > AGAIN_MS.livedLong) this.#againMs = AGAIN_MS.first;
    const by = culprit === undefined ? this.#whileRunning(worker) : ` by ${nameOf(culprit)}`;
    const again = `again in ${this.#againMs / 1_000} s`;
    this.#say('red', 'crashed', `${how}${by}${handedBackText(handedBack)}: ${again}`);
    using over = this.#scope();
    await Promise.race([clock.sleep(this.#againMs, over.signal), this.#watch.changed(over.signal), this.#interruption]);
    this.#againMs = Math.min(this.#againMs * 2, AGAIN_MS.most);
  }

  #whileRunning({ atWork }: WorkerProcess): string {
    return atWork.length === 0 ? ' with no task at work' : ` while running ${namesOf(atWork)}`;
  }

  #say(style: Parameters<typeof styleText>[0], word: string, text: string): void {
    const { output } = this.#ports.context;
    output.note(`${styleText(style, word.padEnd(8), { stream: output.err })} ${printable(text)}`);
  }

  /** A signal that aborts when its block is left. */
  #scope(): Disposable & { readonly signal: AbortSignal } {
    const controller = new AbortController();
    return { signal: controller.signal, [Symbol.dispose]: () => controller.abort() };
  }
}

function nameOf(task: CurrentTask | undefined): string {
  return task === undefined ? 'a task that is not known' : `${task.id} (${task.name})`;
}

const MOST_NAMES = 5;

function namesOf(tasks: readonly CurrentTask[]): string {
  const more = tasks.length > MOST_NAMES ? ` and ${tasks.length - MOST_NAMES} more` : '';
  return tasks.slice(0, MOST_NAMES).map(nameOf).join(', ') + more;
}

function handedBackText(tasks: readonly CurrentTask[]): string {
  return tasks.length === 0 ? '' : ` (${plural(tasks.length, 'task')} handed back: ${namesOf(tasks)})`;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
