/** Whether code runs inside of a task's, however deep: what would wait for a worker's slot while it holds one is refused there. */
import { hostModule } from '../../core/runtime/host.ts';

const Storage = hostModule('node:async_hooks')?.AsyncLocalStorage;
/** Without it, as at the edge, no workers run either. */
const inside = Storage === undefined ? undefined : new Storage<true>();

export function asTaskCode<Result>(run: () => Result): Result {
  return inside === undefined ? run() : inside.run(true, run);
}

export function isInsideTask(): boolean {
  return inside?.getStore() === true;
}
