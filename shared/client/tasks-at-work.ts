/** The tasks whose code runs in this process, to name them if it ends without them: by `process.exit`, or by an unhandled error. */
import type { TaskEvents } from '../tasks/run/events.ts';
import { toldToAll } from '../tasks/run/task-module.ts';
import type { CurrentTask } from '../tasks/task/task-scope.ts';
import { currentTask } from '../tasks/task/task-scope.ts';

export class TasksAtWork {
  readonly #names = new Set<string>();

  /** The same events, noted here as well. */
  events(events: TaskEvents | undefined): TaskEvents {
    const own: TaskEvents = {
      onClaimed: (task) => this.#names.add(nameOf(task)),
      onSettled: (task) => this.#names.delete(nameOf(task)),
    };
    return toldToAll(events === undefined ? [own] : [own, events]);
  }

  /** Calls `tell` if the process ends before it is disposed of while tasks are at work. */
  atExit(tell: (message: string) => void): Disposable {
    const onExit = (): void => {
      const message = this.#describe();
      if (message !== undefined) tell(message);
    };
    process.on('exit', onExit);
    return { [Symbol.dispose]: () => void process.off('exit', onExit) };
  }

  #describe(): string | undefined {
    if (this.#names.size === 0) return undefined;
    const culprit = currentTask();
    const by = culprit === undefined ? '' : `, in the code of ${nameOf(culprit)}`;
    return `the process ended${by}; at work: ${[...this.#names].join(', ')}; other workers take over once its session has expired`;
  }
}

function nameOf({ id, name }: CurrentTask): string {
  return `task ${id} (${name})`;
}
