/**
 * Waits for the end and the result of a task.
 *
 * All waiters of one client share one poll. Each batch read contains all tasks whose next read is due, at half a read unit a task;
 * several waiters for one task share a key. A task is first read after 100 ms, and then at growing intervals of up to one second.
 * If a read shows the end, a consistent read confirms it, because the id may already belong to other work.
 */
import { ConfigurationError, MismatchError, StoreUnavailableError } from '../../core/errors.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import { LONGEST_TIMER_MS } from '../../core/runtime/clock.ts';
import type { Committed } from '../task/context.ts';
import type { TaskStore } from '../task/task-store.ts';
import type { EndedTask, Json, TaskError, TaskKey, TaskRecord } from '../task/task.ts';
import { describeTask } from '../task/task.ts';
import type { Duration } from '../../core/validate/duration.ts';
import { givenMs } from '../../core/validate/duration.ts';
import type { Due } from '../../core/wait/shared-poll.ts';
import { SharedPoll } from '../../core/wait/shared-poll.ts';
import { validSignal } from '../../core/wait/wait.ts';

export interface ResultOptions {
  /** Maximum wait; 0 reads once. Includes the time in which the store is unavailable. Default: until the task has ended. */
  readonly wait?: Duration;
  /** Ends the wait by throwing its reason. */
  readonly signal?: AbortSignal;
  /** Default: the client's. */
  readonly queue?: string;
}

export const RESULT_OPTIONS = ['wait', 'signal', 'queue'] as const;

export const RESULT_OPTIONS_BY_DEFINITION = [...RESULT_OPTIONS, 'id'] as const;

/** The end of a task, or the deadline. */
export type TaskOutcome<Result = Json | undefined> =
  | { readonly kind: 'done'; readonly id: string; readonly result: Result; readonly task: TaskRecord }
  /** `error`: the last attempt's. */
  | { readonly kind: 'dead'; readonly id: string; readonly error: TaskError | undefined; readonly task: TaskRecord }
  | { readonly kind: 'cancelled'; readonly id: string; readonly reason: string | undefined; readonly task: TaskRecord }
  /** The wait is over, and the task still waits or runs: see `task.state`. */
  | { readonly kind: 'deadline'; readonly id: string; readonly task: TaskRecord };

/** The result type of a definition's code after the JSON round trip, without results passed to `commit`. */
export type ResultOf<Output> = unknown extends Output
  ? Json | undefined
  : Output extends Committed
    ? Json | undefined
    : undefined extends Output
      ? undefined
      : Output;

/** The part of a definition that types its results. */
export interface DefinitionOf<Output> {
  readonly kind: 'leasehold.task';
  readonly name: string;
  run(input: never, task: never): Promise<Output> | Output;
}

interface ResultPorts {
  readonly store: Pick<TaskStore, 'get' | 'getMany'>;
  readonly runtime: Pick<Runtime, 'clock'>;
}

/** Minimum pauses between reads of one task. */
const PAUSE_MS = { first: 100, longest: 1_000 };
/** Tasks that are due within this time share one read. */
const TOGETHER_MS = 50;

export class TaskResults {
  readonly #ports: ResultPorts;
  readonly #poll: SharedPoll<undefined, TaskKey>;

  constructor(ports: ResultPorts) {
    this.#ports = ports;
    this.#poll = new SharedPoll(ports.runtime.clock, {
      begin: keyNamed,
      pauseMs: (polls) => Math.min(PAUSE_MS.longest, PAUSE_MS.first * 2 ** polls),
      togetherMs: TOGETHER_MS,
      read: (due, tell) => this.#findEnds(due, (key) => tell(key, undefined)),
    });
  }

  /**
   * @param name the task's expected name, if known
   * @throws ConfigurationError when there is no such task; MismatchError when it has another name; the reason of `signal`
   */
  async wait(key: TaskKey, options: ResultOptions, name?: string): Promise<TaskOutcome> {
    const { clock } = this.#ports.runtime;
    const waitMs = givenMs('wait', options.wait) ?? Infinity;
    const signal = validSignal(options.signal);
    const deadline = clock.monotonic() + waitMs;
    for (;;) {
      signal?.throwIfAborted();
      const remainingMs = Math.max(0, deadline - clock.monotonic());
      const task = await this.#read(key, remainingMs);
      if (task !== undefined) {
        if (name !== undefined && task.name !== name)
          throw new MismatchError(task.id, `${describeTask(key)} has the name ${task.name}, not ${name}`);
        if (isEnded(task)) return outcomeOf(task);
        if (remainingMs === 0) return { kind: 'deadline', id: task.id, task };
      }
      await this.#nextEnd(key, remainingMs, signal);
    }
  }

  /** Returns undefined while the store is unavailable and there is time left. */
  async #read(key: TaskKey, remainingMs: number): Promise<TaskRecord | undefined> {
    try {
      const task = await this.#ports.store.get(key);
      if (task === undefined) throw new ConfigurationError(`there is no ${describeTask(key)}: check its id and queue`);
      return task;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || remainingMs === 0) throw error;
      return undefined;
    }
  }

  /** Waits until a poll finds the end, the time is over, or `signal` aborts. */
  async #nextEnd(key: TaskKey, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    const over = new AbortController();
    const cancel = this.#ports.runtime.clock.after(Math.min(waitMs, LONGEST_TIMER_MS), () => over.abort());
    try {
      await this.#poll.next(nameOf(key), () => true, AbortSignal.any([over.signal, ...(signal ? [signal] : [])]));
    } finally {
      cancel();
    }
  }

  /** Reports tasks that have ended or are missing. A missing task is only detected here if the first read failed. */
  async #findEnds(due: readonly Due<TaskKey>[], tell: (key: string) => void): Promise<void> {
    try {
      const rows = await this.#ports.store.getMany(due.map(({ memory }) => memory));
      const going = new Set(rows.filter((row) => !isEnded(row)).map(nameOf));
      for (const { key } of due) if (!going.has(key)) tell(key);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }
}

function nameOf({ queue, id }: TaskKey): string {
  return JSON.stringify([queue, id]);
}

function keyNamed(name: string): TaskKey {
  const [queue, id] = JSON.parse(name) as readonly [queue: string, id: string];
  return { queue, id };
}

function isEnded(task: TaskRecord): task is EndedTask {
  return task.state !== 'ready' && task.state !== 'running';
}

function outcomeOf(task: EndedTask): TaskOutcome {
  const { id } = task;
  switch (task.state) {
    case 'done':
      return { kind: 'done', id, result: task.result, task };
    case 'dead':
      return { kind: 'dead', id, error: task.lastError, task };
    case 'cancelled':
      return { kind: 'cancelled', id, reason: task.cancellation?.reason, task };
  }
}
