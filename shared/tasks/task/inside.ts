/**
 * The task whose code is running, however deep inside of it.
 * A wait that would occupy a worker's slot while the caller holds one is refused there; `leasehold dev` names the task in its output.
 */
import { hostModule } from '../../core/runtime/host.ts';

export interface CurrentTask {
  readonly id: string;
  readonly name: string;
}

const Storage = hostModule('node:async_hooks')?.AsyncLocalStorage;
/** Without it, as at the edge, no workers run either. */
const inside = Storage === undefined ? undefined : new Storage<CurrentTask>();

export function asTaskCode<Result>(task: CurrentTask, run: () => Result): Result {
  return inside === undefined ? run() : inside.run(task, run);
}

/** Undefined outside of task code. */
export function currentTask(): CurrentTask | undefined {
  return inside?.getStore();
}

export function isInsideTask(): boolean {
  return currentTask() !== undefined;
}
