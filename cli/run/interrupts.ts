/**
 * Signals to the wrapper.
 * Until the command runs they end the wait;
 * while it runs they are passed on; afterwards they end the remaining work.
 *
 * Ctrl+Z stops the command before the wrapper, and on return the wrapper checks its lease before the command continues.
 */
import { constants } from 'node:os';
import type { Clock } from '../../shared/core/runtime/clock.ts';
import { CommandError, exitCodeOfSignal } from '../exit.ts';
import type { Child } from './child.ts';

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
const OTHERS = ['SIGUSR2', 'SIGWINCH'] as const;

export class Interrupts implements Disposable {
  readonly #ended = new AbortController();
  readonly #listeners: (readonly [NodeJS.Signals, () => void])[] = [];
  #child: Child | undefined;

  constructor() {
    for (const signal of ENDING) this.#on(signal, () => this.#end(signal));
    for (const signal of OTHERS) this.#on(signal, () => this.#child?.signal(signal));
  }

  /** Aborts with a `CommandError` that has the shell's code for the signal; while a command runs, it does not. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Passes all further signals to the command. @param isLost whether its lease is lost, checked before it continues after a stop */
  passTo(child: Child, isLost: () => boolean): void {
    this.#child = child;
    this.#on('SIGTSTP', () => {
      child.signal('SIGSTOP');
      process.kill(process.pid, 'SIGSTOP');
    });
    this.#on('SIGCONT', () => {
      if (!isLost()) child.signal('SIGCONT');
    });
    void child.ended.then(() => {
      this.#child = undefined;
    });
  }

  async sleep(ms: number, clock: Clock, lost: AbortSignal): Promise<void> {
    if (ms > 0) await clock.sleep(ms, AbortSignal.any([this.#ended.signal, lost]));
  }

  [Symbol.dispose](): void {
    for (const [signal, listener] of this.#listeners) process.off(signal, listener);
  }

  #end(signal: (typeof ENDING)[number]): void {
    if (this.#child !== undefined) this.#child.signal(signal);
    else this.#ended.abort(new CommandError(exitCodeOfSignal(constants.signals[signal]), `interrupted by ${signal}`));
  }

  #on(signal: NodeJS.Signals, listener: () => void): void {
    process.on(signal, listener);
    this.#listeners.push([signal, listener]);
  }
}
