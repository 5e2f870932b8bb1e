/**
 * Best-effort writes next to a task's own row,
 * limited to the grace period of task code; a failure is only logged.
 */
import { messageOf } from '../../core/errors.ts';
import { stampOf } from '../../core/lease/write.ts';
import type { Runtime } from '../../core/runtime/runtime.ts';
import type { SessionHolder } from '../../session/keep-alive.ts';
import type { TaskLog } from '../task/context.ts';
import type { PayloadPorts } from '../task/payload.ts';
import { dropPayload } from '../task/payload.ts';
import type { RunningTask } from '../task/task.ts';
import { claimOf } from '../task/task.ts';
import { rejectedBy } from './ending.ts';
import type { Thrown } from './thrown.ts';
import { stackOf } from './thrown.ts';

/** Maximum length, so that it fits into its row. */
const STACK_LIMIT_CHARACTERS = 2_000;

interface SideWritePorts extends PayloadPorts {
  readonly session: SessionHolder;
  readonly runtime: Runtime;
  readonly log: TaskLog;
  /** How long task code may take to stop. */
  readonly graceMs: number;
}

export class SideWrites {
  readonly #task: RunningTask;
  readonly #ports: SideWritePorts;
  /** Aborts when the run is over. */
  readonly #finished: AbortSignal;

  constructor(task: RunningTask, ports: SideWritePorts, finished: AbortSignal) {
    this.#task = task;
    this.#ports = ports;
    this.#finished = finished;
  }

  /** Waits for the grace period; less if the session is lost or the run is over. */
  grace(): Promise<void> {
    const { runtime, session, graceMs } = this.#ports;
    return runtime.clock.sleep(graceMs, AbortSignal.any([session.signal, this.#finished]));
  }

  /** Removes the payload of a done task. If that fails, TTL deletes it. */
  async dropPayload(): Promise<void> {
    if (this.#task.payload === undefined) return;
    await this.#try('payload not removed', (signal) => dropPayload(this.#task, this.#ports, signal));
  }

  /** Stores the stack of a failed attempt. The error itself is in the task's row and in the log. */
  async keepStack(thrown: Thrown): Promise<void> {
    const stack = stackOf(thrown, STACK_LIMIT_CHARACTERS);
    if (stack === undefined) return;
    const { tasks, runtime } = this.#ports;
    const claim = claimOf(this.#task);
    await this.#try('stack not kept', (signal) => tasks.keepFailure(claim, stack, stampOf(runtime), { signal }));
  }

  async #try(failed: string, send: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const over = new AbortController();
    void this.grace().then(() => over.abort());
    try {
      await Promise.race([send(over.signal), rejectedBy(over.signal)]);
    } catch (error) {
      this.#ports.log.warn(failed, { task: this.#task.id, error: messageOf(error) });
    }
  }
}
