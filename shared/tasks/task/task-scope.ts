/**
 * The scope of running task code, however deep the call.
 * It refuses waits that would occupy a worker's slot while the caller holds one; `leasehold dev` uses it to name the task in its output.
 */
import { hostModule } from '../../core/runtime/host.ts';

export interface CurrentTask {
  readonly id: string;
  readonly name: string;
}

const Storage = hostModule('node:async_hooks')?.AsyncLocalStorage;
/** Platforms without it, such as the edge, do not run workers. */
const inside = Storage === undefined ? undefined : new Storage<CurrentTask>();

export function runInTaskScope<Result>(task: CurrentTask, run: () => Result): Result {
  return inside === undefined ? run() : inside.run(task, run);
}

/** Returns undefined outside task code. */
export function currentTask(): CurrentTask | undefined {
  return inside?.getStore();
}

export function isInsideTask(): boolean {
  return currentTask() !== undefined;
}
