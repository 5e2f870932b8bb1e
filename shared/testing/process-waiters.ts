/**
 * The waiters of each simulated process, in separate lines: a killed process never leaves a line.
 * While code waits in one, it does nothing else, so time may pass.
 */
import type { Clock } from '../core/runtime/clock.ts';
import type { Waiter } from '../core/wait/waiter-queue.ts';
import { WaiterQueue } from '../core/wait/waiter-queue.ts';
import { currentProcess } from './worker-process.ts';

export class ProcessWaiters<Blocker> extends WaiterQueue<Blocker> {
  readonly #clock: Clock;
  readonly #queues = new WeakMap<object, WaiterQueue<Blocker>>();

  constructor(clock: Clock) {
    const waiting: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms, call) => clock.after(ms, call),
      sleep: (ms, signal) => {
        const sleep = () => clock.sleep(ms, signal);
        return currentProcess()?.whileWaiting(sleep) ?? sleep();
      },
    };
    super(waiting);
    this.#clock = waiting;
  }

  override join(key: string, kind?: string): Waiter<Blocker> {
    return this.#own()?.join(key, kind) ?? super.join(key, kind);
  }

  override wake(key: string): void {
    this.#own()?.wake(key);
    super.wake(key);
  }

  #own(): WaiterQueue<Blocker> | undefined {
    const process = currentProcess();
    if (process === undefined) return undefined;
    const queue = this.#queues.get(process) ?? new WaiterQueue<Blocker>(this.#clock);
    this.#queues.set(process, queue);
    return queue;
  }
}
